"""The gateway: the GPU workers API over HTTP, with accounts, keys, submissions and the ledger."""
