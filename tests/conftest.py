"""What all tests need of the process that runs them."""

from __future__ import annotations

import signal

# What a shell starts in the background, and all that it starts, ignores Ctrl-C, which tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)
