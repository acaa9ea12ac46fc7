"""GPUWorkerNodes: Nodes get labels and job slots, by which kube-scheduler places jobs.

A process of its own does that, with an account that may do nothing else (`config/gateway/nodes`).
"""
