"""The DRA driver canhazgpu.com: it offers a node's GPUs, and hands them out to claims."""
