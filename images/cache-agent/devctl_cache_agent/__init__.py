"""The cache agent: keeps on its node what the CachePlan wants there."""
