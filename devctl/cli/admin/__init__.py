"""`devctl admin`: what administrators do for everybody."""
