"""An event loop wakes itself through a pair of Unix sockets."""

from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here
