"""SSH to servers without an open port: the system's ssh over an exec stream."""
