"""A server with TLS, for what asks the API server with an account's folder."""

from __future__ import annotations

import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unit.kube.certificates import make_certificates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import HTTPServer
    from pathlib import Path


def speak_tls(http: HTTPServer, folder: Path) -> int:
    """Have a server speak TLS, and write an account's folder for it, with the token `first`.

    Returns:
        Its port.
    """
    made = make_certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server, made.server_key)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    (folder / "token").write_text("first\n")
    return int(http.server_address[1])


@contextmanager
def serving(http: HTTPServer) -> Iterator[None]:
    """Serve in a thread."""
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
