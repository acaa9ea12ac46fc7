"""A package for each kind: what it watches, its status, and the actions taken."""
