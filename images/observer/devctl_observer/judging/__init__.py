"""Pure functions that interpret Kubernetes objects for users."""
