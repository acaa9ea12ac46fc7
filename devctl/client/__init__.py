"""The SDK: what the commands do, for programs."""
