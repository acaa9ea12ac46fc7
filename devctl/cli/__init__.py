"""The command line: one file a command; `main` only registers."""
