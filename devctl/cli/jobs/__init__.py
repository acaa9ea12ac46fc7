"""The commands of `devctl jobs`."""
