"""OpenID Connect for a command line: log in, keep the tokens, refresh them; knows no Kubernetes."""
