"""Ephemeral jobs and the files on their volumes."""
