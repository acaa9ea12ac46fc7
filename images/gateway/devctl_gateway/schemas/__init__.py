"""The bodies of requests and answers, a module per resource."""
