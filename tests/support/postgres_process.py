"""A real PostgreSQL of the host's release, with its data in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.servers import succeeds, wait_until

from devctl.local.apt import host_sources

_NOBODY = 65534
"""The server refuses to run as root."""
_PROGRAMS = Path("/usr/lib/postgresql")
_NO_SERVER = Path("/etc/postgresql-common/createcluster.conf")


class PostgresProcess:
    """PostgreSQL on a socket alone, with one database per test."""

    def __init__(self, *, durable: bool = True) -> None:
        """Start nothing yet.

        Args:
            durable: Whether it waits for the disk, without which the end of the machine loses data,
                and that of the server none.
        """
        # Not below pytest's folders, which nobody but root may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="devctl-postgres-"))
        os.chown(self.folder, _NOBODY, _NOBODY)
        self._data = self.folder / "data"
        self._databases = 0
        self._more = "" if durable else " -c fsync=off"

    def start(self) -> None:
        """Make its data, start it, and wait until it answers."""
        if not self._data.exists():
            self.run(
                "initdb", "--pgdata", self._data, "--auth=trust", "--username=gateway", "--no-sync"
            )
        options = (
            f"-c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=60"
            f"{self._more}"
        )
        self.run(
            "pg_ctl", "--pgdata", self._data, "--log", self.folder / "log", "-o", options, "start"
        )
        wait_until(lambda: succeeds(lambda: self.sql("SELECT 1")), self._log)

    def stop(self, how: str = "fast") -> None:
        """End it: `fast`, or `immediate` as a crash does."""
        self.run("pg_ctl", "--pgdata", self._data, "--mode", how, "stop")

    @property
    def pid(self) -> int:
        """The number of the process that all others of the server are children of."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def remove(self) -> None:
        """End it, and remove its data."""
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def database(self, template: str = "template1") -> str:
        """Make a database, as a copy of another to which nobody is connected; its URL."""
        return self.url(self.create(template))

    def create(self, template: str = "template1") -> str:
        """Make a database, as `database` does; its name."""
        self._databases += 1
        name = f"gateway_{self._databases}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://gateway@/{name}?host={self.folder}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What a statement answers, unaligned."""
        psql = ("psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align")
        place = ("--host", self.folder, "--username", "gateway", "--dbname", database)
        return self.run(*psql, *place, "--set=ON_ERROR_STOP=1", "--command", statement).strip()

    def run(self, program: str, *arguments: str | Path) -> str:
        """What one of its programs prints; it runs as nobody."""
        as_nobody = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
        # A server that is started keeps what it inherits open.
        quiet = program == "pg_ctl"
        with (self.folder / "errors").open("ab") as errors:
            done = subprocess.run(
                [*as_nobody, programs() / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
                stderr=errors,
                text=True,
                check=True,
                cwd=self.folder,
            )
        return done.stdout or ""

    def _log(self) -> str:
        found = [self.folder / "log", self.folder / "errors"]
        return "".join(path.read_text()[-2000:] for path in found if path.exists())


def programs() -> Path:
    """The folder of its programs, which are installed if necessary; no server is started then."""
    found = sorted(_PROGRAMS.glob("*/bin/initdb"))
    if not found:
        ensure_postgres()
        found = sorted(_PROGRAMS.glob("*/bin/initdb"))
    return found[-1].parent


def ensure_postgres() -> None:
    """Bring its programs along: where a plane runs, nothing can be downloaded."""
    if next(_PROGRAMS.glob("*/bin/initdb"), None):
        return
    host_sources()  # apt has its indexes then
    if not _NO_SERVER.exists():
        _NO_SERVER.parent.mkdir(parents=True, exist_ok=True)
        _NO_SERVER.write_text("create_main_cluster = false\n")
    install = ("apt-get", "install", "--yes", "--no-install-recommends", "postgresql")
    subprocess.run(
        install,
        check=True,
        capture_output=True,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
    )
