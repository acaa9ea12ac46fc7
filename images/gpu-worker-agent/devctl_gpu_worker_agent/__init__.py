"""The agent of a GPU worker: registers its node with the gateway, and reports what is free."""

VERSION = "0.1.0"
"""That of devctl, which is not installed where the agent runs."""
