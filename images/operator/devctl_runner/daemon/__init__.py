"""devctl-runnerd: the process that stays warm, accepts runs and forks processes for them.

__main__   the start, and replacing itself when a role has changed
files      the files that are in memory, and whether they have changed
loop       accepts runs, starts them, kills overdue ones
job        one run: the replies to its client, and the report of a killed one
pool       the forked processes, busy or idle
processes  killing a process with everything that it has started
figures    the metrics, and how they are served
"""
