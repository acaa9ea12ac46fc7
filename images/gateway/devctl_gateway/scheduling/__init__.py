"""Which nodes could run a job, and what is in its way."""
