"""Commands and ports of a server's pods, brought to this machine."""
