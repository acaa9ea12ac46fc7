"""How the API server is asked: by the requests of a run, and by nothing else.

client      the requests
connection  to the cluster that the environment names
kinds       where the API serves a kind
refusals    what the server meant by an error
retry       how long and how often to try again
"""
