"""The observer: derives status from the state of the cluster, and enforces deadlines.

Each layer imports only those below it:

    app, observer, probes    one process
    servers, jobs            one kind each: what it watches, its status, and the actions taken
    flavors, artifacts       what these two build on
    control                  what every kind's package is built from, and all write requests
    watching                 stores that mirror the API server
    judging                  pure functions that interpret Kubernetes objects for users
"""
