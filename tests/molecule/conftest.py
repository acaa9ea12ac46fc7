"""A plane for each process that runs tests."""

from support.plane.fixtures import *  # noqa: F403 - pytest looks for fixtures here
