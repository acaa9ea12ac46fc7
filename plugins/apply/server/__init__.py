"""Everything that talks to the API server during a run.

client      the requests
connection  the connection to the cluster that the environment names
kinds       the API path of a kind
refusals    what an API error means
retry       how long and how often to retry
"""
