"""The document of the GPU workers API, and the client that is generated from it: `make api`."""
