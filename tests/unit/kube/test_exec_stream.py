from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.errors import ConnectionLostError, DeniedError, DevctlError, NotFoundError
from devctl.kube.pod_streams import STDERR, STDOUT, ExecStream, open_exec
from unit.kube.pod_server import EXEC, Conversation, pod_server, server_frame
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from unit.kube.certificates import Certificates

RUNC = "failed to exec: OCI runtime exec failed: exec failed: unable to start container process: "


def collected(stream: ExecStream) -> dict[int, bytes]:
    found = {STDOUT: b"", STDERR: b""}
    for channel, data in stream.read():
        found[channel] += data
    return found


def test_a_command_with_both_outputs_and_an_exit_code(certificates: Certificates) -> None:
    def script(client: Conversation) -> None:
        assert client.path == "/api/v1/namespaces/team/pods/my-server-0/exec"
        assert client.query == [
            ("container", "server"),
            ("stdin", "false"),
            ("stdout", "true"),
            ("stderr", "true"),
            ("tty", "false"),
            ("command", "sh"),
            ("command", "-c"),
            ("command", "echo 'a b' && $x; \n ü"),
            ("command", ""),
        ]
        assert client.header("Sec-WebSocket-Protocol") == EXEC
        assert client.header("Authorization") == "Bearer secret"
        client.accept(EXEC, server_frame(2, b"\1") + server_frame(2, b"\1out"))
        client.send(2, b"err")
        client.send(1, b"more")
        client.exit(7)
        assert client.message() == b""

    argv = ["sh", "-c", "echo 'a b' && $x; \n ü", ""]
    with (
        pod_server(certificates, script, token="secret") as cluster,  # noqa: S106 - no password
        open_exec(cluster, "my-server-0", argv) as stream,
    ):
        assert collected(stream) == {STDOUT: b"outmore", STDERR: b"err"}
        assert stream.exit_code == 7


def test_one_thread_writes_while_another_reads(certificates: Certificates) -> None:
    data = bytes(range(256)) * 4096 * 3

    def echo(client: Conversation) -> None:
        client.accept(EXEC)
        while (message := client.message()) != b"\xff\0":
            assert message[0] == 0
            client.send(1, message[1:])
        client.exit(0)

    with (
        pod_server(certificates, echo) as cluster,
        open_exec(cluster, "p", ["cat"], "other", stdin=True) as stream,
    ):

        def feed() -> None:
            stream.write(data)
            stream.close_stdin()
            stream.close_stdin()

        feeder = threading.Thread(target=feed)
        feeder.start()
        assert collected(stream)[STDOUT] == data
        assert stream.exit_code == 0
        feeder.join()


def test_a_terminal_and_its_size() -> None:
    def script(client: Conversation) -> None:
        assert ("stderr", "false") in client.query
        assert ("tty", "true") in client.query
        assert ("container", "loader") in client.query
        client.accept(EXEC)
        assert client.message() == b'\4{"Width": 80, "Height": 24}'
        client.exit(0)

    with (
        pod_server(None, script) as cluster,
        open_exec(cluster, "p", ["sh"], container="loader", stdin=True, tty=True) as stream,
    ):
        stream.resize(80, 24)
        assert list(stream.read()) == []


def test_messages_in_pieces_and_pings_between_them(certificates: Certificates) -> None:
    def script(client: Conversation) -> None:
        client.accept(EXEC)
        long = b"x" * 70_000
        for piece in (
            server_frame(2, b"\1begin", final=False),
            server_frame(9, b"are you there"),
            server_frame(0, long, final=False),
            server_frame(0, b"end"),
        ):
            client.connection.sendall(piece)
        assert client.frame() == (10, b"are you there")
        client.exit(0)

    with pod_server(certificates, script) as cluster, open_exec(cluster, "p", ["x"]) as stream:
        assert collected(stream)[STDOUT] == b"begin" + b"x" * 70_000 + b"end"


@pytest.mark.parametrize("ending", [b"", server_frame(8, b"\3\xe8"), server_frame(8, b"")])
def test_an_end_before_the_commands_is_a_lost_connection(
    certificates: Certificates, ending: bytes
) -> None:
    def script(client: Conversation) -> None:
        client.accept(EXEC, server_frame(2, b"\1half") + ending)

    with pod_server(certificates, script) as cluster, open_exec(cluster, "p", ["x"]) as stream:
        output = stream.read()
        assert next(output) == (STDOUT, b"half")
        with pytest.raises(ConnectionLostError, match="pod `p` was lost"):
            next(output)
        with pytest.raises(ConnectionLostError):
            _ = stream.exit_code


def test_writing_to_what_has_gone_is_a_lost_connection(certificates: Certificates) -> None:
    def script(client: Conversation) -> None:
        client.accept(EXEC)

    with pod_server(certificates, script) as cluster:
        stream = open_exec(cluster, "p", ["x"], stdin=True)
    with pytest.raises(ConnectionLostError, match="pod `p` was lost"):
        stream.write(b"x" * 10_000_000)
    stream.close()
    with pytest.raises(ConnectionLostError, match="closed on this side"):
        stream.write(b"x")


def test_hanging_up_wakes_whoever_reads(certificates: Certificates) -> None:
    reading = threading.Event()

    def script(client: Conversation) -> None:
        client.accept(EXEC, server_frame(2, b"\1begin"))
        assert client.message() == b""

    with pod_server(certificates, script) as cluster:
        stream = open_exec(cluster, "p", ["x"])
        ends: list[Any] = []

        def read() -> None:
            try:
                for _ in stream.read():
                    reading.set()
            except ConnectionLostError as error:
                ends.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        assert reading.wait(PATIENCE)
        stream.close()
        stream.close()
        reader.join(PATIENCE)
        assert len(ends) == 1


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        (f'{RUNC}exec: "nope": executable file not found in $PATH', 127, "cannot run that: .nope"),
        (f'{RUNC}exec: "/x": stat /x: no such file or directory', 127, "no such file"),
        (f'{RUNC}exec: "/etc": is a directory', 126, "is a directory"),
        (f"{RUNC}waiting for init: connection reset by peer", 126, "could not start it: waiting"),
        ('container not found ("server")', 1, "does not run"),
        ("the disk is on fire", 1, "the disk is on fire"),
    ],
)
def test_why_a_command_does_not_start(message: str, code: int, words: str) -> None:
    def script(client: Conversation) -> None:
        client.accept(EXEC)
        client.status(status="Failure", reason="InternalError", message=message, code=500)

    with pod_server(None, script) as cluster, open_exec(cluster, "p", ["x"]) as stream:
        with pytest.raises(DevctlError, match=words) as caught:
            list(stream.read())
        assert caught.value.exit_code == code
        assert caught.value.fix


def test_an_end_that_nobody_understands() -> None:
    def script(client: Conversation) -> None:
        client.accept(EXEC)
        client.send(3, b"\xff what")

    with (
        pod_server(None, script) as cluster,
        open_exec(cluster, "p", ["x"]) as stream,
        pytest.raises(DevctlError, match="devctl does not understand"),
    ):
        list(stream.read())


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (404, {"message": 'pods "p" not found'}, NotFoundError),
        (403, {"message": 'pods "p" is forbidden: cannot create pods/exec'}, DeniedError),
        (401, {"message": "Unauthorized"}, DeniedError),
        (400, {"message": "container x is not valid for pod p"}, DevctlError),
    ],
)
def test_what_the_api_server_refuses(
    certificates: Certificates, code: int, status: dict[str, str], kind: type[DevctlError]
) -> None:
    with (
        pod_server(certificates, lambda client: client.refuse(code, **status)) as cluster,
        pytest.raises(kind) as caught,
    ):
        open_exec(cluster, "p", ["x"])
    assert code == 401 or caught.value.message == status["message"]


def test_credentials_that_were_refused_are_renewed_once(
    certificates: Certificates, tmp_path: Any
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    def old(client: Conversation) -> None:
        assert client.header("Authorization") == "Bearer old"
        token.write_text("new\n")
        client.refuse(401, message="Unauthorized")

    def new(client: Conversation) -> None:
        assert client.header("Authorization") == "Bearer new"
        client.accept(EXEC)
        client.exit(0)

    with (
        pod_server(certificates, old, new, tokenFile=str(token)) as cluster,
        open_exec(cluster, "p", ["x"]) as stream,
    ):
        assert list(stream.read()) == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_arguments_travel_as_they_are(argv: list[str]) -> None:
    def script(client: Conversation) -> None:
        assert [value for name, value in client.query if name == "command"] == argv
        client.accept(EXEC)
        client.exit(0)

    with pod_server(None, script) as cluster, open_exec(cluster, "p", argv) as stream:
        assert list(stream.read()) == []
