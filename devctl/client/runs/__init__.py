"""Commands that run on all replicas of a server, whether or not anybody stays connected."""
