"""What the role `devserver_team` computes, from a DevServerTeam.

queues   the ClusterQueue of each flavor
volumes  the shared volume, and what members mount
values   all values for the templates, and the labels that mark an object as a team's
"""
