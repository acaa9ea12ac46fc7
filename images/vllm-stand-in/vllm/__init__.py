"""A stand-in for vLLM, not vLLM: it has its program's name, and computes nothing.

answer    what it answers: a checkout that changes this is seen in what is served
program   `vllm serve MODEL`, and a server that speaks a little of the same protocol
_version  is made when the image is built, as vLLM's compiled modules are: no checkout has it
"""
