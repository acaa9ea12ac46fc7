"""The observer: derives status from what the cluster does, and keeps time.

Each room imports only those below it:

    app, observer, probes    one process
    servers, jobs            a kind each: what it follows, what its status is, what is done then
    flavors, artifacts       what these two are made of
    control                  what every kind's package is built from, and all requests that write
    watching                 keeps stores equal to what the API server has
    judging                  pure functions: what Kubernetes' objects mean to people
"""
