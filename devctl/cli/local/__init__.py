"""`devctl local`: the cluster on this machine."""
