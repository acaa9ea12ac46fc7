"""The observer: derives status from what the cluster does, and keeps time.

Pure modules turn observed objects into a status: containers, scheduling, volumes, replicas, phase,
deadlines, flavor_fit, flavor_drift, conditions, server_status, flavor_status, transitions.
The shell watches and writes: kinds, store, caches, reflector, work_queue, election, probes,
cluster_api, expiry, controllers, observer, app.
cluster_api, expiry, controllers, observer, app.
"""
