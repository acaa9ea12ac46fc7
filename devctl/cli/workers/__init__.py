"""The commands of `devctl workers`."""
