"""The values for the role `vllm_run`, from a VLLMRun, its claim, its pod and the CachePlan.

checkout   the checkout that it starts in
claim      the GPUs that it claims
mounts     what it sees of its node's cache
plan       what names of the CachePlan stand for
placement  which nodes it prefers because of what they have ready
pod        the contents of its pod
values     all values together: what is created, and what is removed

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
