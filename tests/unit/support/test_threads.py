"""What watches over the threads of all unit tests."""

from __future__ import annotations

import threading

from unit.threads import outlasting


def test_a_thread_that_does_not_end_is_named() -> None:
    before, over = threading.enumerate(), threading.Event()
    thread = threading.Thread(target=over.wait, name="stays", daemon=True)
    thread.start()
    assert outlasting(before, 0) == ["stays"]
    assert outlasting([*before, thread], 0) == []
    over.set()
    assert outlasting(before) == []
