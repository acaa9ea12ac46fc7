"""Allows Unix sockets, because event loops use a pair of them internally."""

from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here
