"""DevServers."""
