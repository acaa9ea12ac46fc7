"""DevServerUsers."""
