"""The family of EphemeralAccelerationJobs.

Pure modules turn observed objects into a status: model, last_words, outcome, endings, waiting,
observed, deadlines, expiry, status, missing, wake, transitions, released.
The shell watches and writes: kinds, caches, foreign, removal, controller, claims, family.
"""
