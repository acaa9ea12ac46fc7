"""A kind whose objects carry what a test wants of a run, in place of a spec."""
