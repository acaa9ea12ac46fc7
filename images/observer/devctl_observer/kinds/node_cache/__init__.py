"""NodeCacheStatuses: nodes get labels that say what they have, so that pods can prefer them.

A process of its own does that, with an account that may do nothing else (`config/cache`).
"""
