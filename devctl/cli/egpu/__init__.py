"""The commands of `egpu`."""
