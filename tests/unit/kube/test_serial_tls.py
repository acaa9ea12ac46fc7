from __future__ import annotations

import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest

from devctl.kube.serial_tls import SerialTls
from unit.kube.waiting import waiting
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from unit.kube.certificates import Certificates

AMOUNT = 4_000_000


def tls_pair(certificates: Certificates) -> tuple[SerialTls, SerialTls]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificates.server, certificates.server_key)
    client = ssl.create_default_context(cafile=certificates.authority)
    client.verify_flags &= ~ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()
    made: list[ssl.SSLSocket] = []
    thread = threading.Thread(
        target=lambda: made.append(server.wrap_socket(theirs, server_side=True))
    )
    thread.start()
    secured = client.wrap_socket(ours, server_hostname="kubernetes")
    thread.join()
    return SerialTls(secured), SerialTls(made[0])


def read_all(connection: SerialTls, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (piece := connection.read(1 << 18)):
        data += piece
    return bytes(data)


def test_both_directions_at_once_and_nothing_is_mixed_up(certificates: Certificates) -> None:
    ends = tls_pair(certificates)
    there, back = b"there" * (AMOUNT // 5), b"back" * (AMOUNT // 4)
    got: dict[str, bytes] = {}
    threads = [
        threading.Thread(target=ends[0].write, args=(there,)),
        threading.Thread(target=ends[1].write, args=(back,)),
        threading.Thread(target=lambda: got.update(there=read_all(ends[1], AMOUNT))),
        threading.Thread(target=lambda: got.update(back=read_all(ends[0], AMOUNT))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert got == {"there": there, "back": back}
    for end in ends:
        end.close()


def test_a_writer_is_not_held_up_by_a_reader_that_waits(certificates: Certificates) -> None:
    ours, theirs = tls_pair(certificates)
    reader = threading.Thread(target=lambda: ours.read(1))
    reader.start()
    ours.write(b"question")
    assert theirs.read(100) == b"question"
    theirs.write(b"!")
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert ours.read(1, timeout=0.01) is None
    ours.close()
    theirs.close()


def test_an_end_without_farewell_is_an_end(certificates: Certificates) -> None:
    ours, theirs = tls_pair(certificates)
    theirs.close()
    assert ours.read(10) == b""
    ours.close()


def test_closing_wakes_whoever_waits(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tls_pair(certificates)
    waits = waiting(ours, monkeypatch)
    ends: list[object] = []

    def read() -> None:
        try:
            ends.append(ours.read(10))
        except OSError as error:
            ends.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert waits.wait(PATIENCE)
    ours.close()
    reader.join(PATIENCE)
    assert len(ends) == 1
    assert not ours.takes()
    with pytest.raises(ConnectionAbortedError):
        ours.read(1)
    theirs.close()
