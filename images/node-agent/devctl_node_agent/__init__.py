"""The node agent: measures for how long nobody has worked in the dev servers of its node."""
