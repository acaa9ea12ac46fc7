"""EphemeralAccelerationJobs."""
