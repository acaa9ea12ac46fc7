"""Claims of jobs: their condition Bound, and their deletion after the job's."""
