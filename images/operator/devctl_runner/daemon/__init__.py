"""devctl-runnerd: the process that stays warm, takes runs and forks one process for each.

__main__   its start, and how it hands itself over when a role has changed
files      what it holds in memory, and whether that has changed
loop       takes runs, has them done, ends those that take too long
job        one of these: what its client is told, and what is reported in its place
pool       the processes that do them, at work or idle
processes  how a process is ended with all that it has started
figures    what is counted, and how Prometheus is answered
"""
