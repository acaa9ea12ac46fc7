"""The observer: derives status from what the cluster does, and keeps time.

Pure modules turn observed objects into a status: containers, scheduling, volumes, pods, replicas,
applied, phase, deadlines, made_from, restart, placed_pods, node_use, flavor_fit, flavor_drift,
wake, missing, refusals, conditions, server_status, flavor_status, transitions.
The shell watches and writes: kinds, store, children, caches, reflector, work_queue, pace,
clock_watch, election, probes, cluster_api, expiry, controllers, family, servers, observer, app.
Those of inference jobs are in the package jobs.
"""
