"""vLLM runs, the plan of what nodes cache, and who has which GPU."""
