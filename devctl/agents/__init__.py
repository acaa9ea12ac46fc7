"""What the programs on nodes share: node agent, cache agent and DRA plugin."""
