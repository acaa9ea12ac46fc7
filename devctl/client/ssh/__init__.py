"""SSH to a server that has no port open: the system's ssh over an exec stream."""
