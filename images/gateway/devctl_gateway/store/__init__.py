"""What the gateway itself must remember: accounts, keys, registrations, submissions, the ledger."""
