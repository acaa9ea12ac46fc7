"""Claims of jobs: one can be waited for, and goes after its job."""
