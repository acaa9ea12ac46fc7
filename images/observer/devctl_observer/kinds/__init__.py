"""A package for each kind: what it follows, what its status is, and what is done about it."""
