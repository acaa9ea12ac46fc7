"""The observer: derives status from what the cluster does, and keeps time.

Pure modules turn observed objects into a status: containers, scheduling, volumes, replicas,
applied, phase, deadlines, made_from, restart, flavor_fit, flavor_drift, wake, conditions,
server_status, flavor_status, transitions.
The shell watches and writes: kinds, store, caches, reflector, work_queue, election, probes,
cluster_api, expiry, controllers, observer, app.
"""
