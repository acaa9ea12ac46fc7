"""One cluster as one user: requests, watches, and streams to and from pods."""
