"""How people log in to a cluster."""
