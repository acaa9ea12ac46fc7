"""Queues of teams: their quota, who waits for it, and why."""
