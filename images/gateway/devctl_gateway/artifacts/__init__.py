"""What jobs have written to the volume of artifacts: each has a folder of its job's name there.

Programs are not trusted: they may put links, pipes and a million files there, and change all of it
at any time. So nothing is followed, everything is bounded, and every call runs in one of a few
threads, as a file system of the network may not answer.
"""
