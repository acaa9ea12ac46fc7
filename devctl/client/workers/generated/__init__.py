"""What the document of the GPU workers API is made into.

Generated from docs/workers-openapi.json by `make api`: change what the gateway says instead.
"""
