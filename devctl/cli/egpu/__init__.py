"""The commands of `egpu`, one file each."""
