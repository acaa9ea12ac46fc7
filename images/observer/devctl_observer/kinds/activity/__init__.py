"""NodeActivities: what the agents of nodes report, and when each report arrived."""
