"""The tests' cluster of real nodes, with vLLM's image on it."""

from support.cluster import *  # noqa: F403 - pytest looks for fixtures here
from support.fixtures import *  # noqa: F403
