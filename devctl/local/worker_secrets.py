"""What scripts/deploy_gpu_workers.sh creates where it is missing, and what signs tokens there.

usage: python -m devctl.local.worker_secrets OBJECT
       python -m devctl.local.worker_secrets token NAME [ROLE] [HOURS]

OBJECT is one of those that config/gateway needs, by name; it is printed as JSON. For the ConfigMap
`gpu-workers-identity`, and for a token, standard input has the private key.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from devctl.errors import DevctlError, UsageError
from devctl.local import worker_objects
from devctl.local.certificates import make_certificate
from devctl.local.worker_tokens import make_key, sign

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MADE: Mapping[str, Callable[[bytes], dict[str, Any]]] = {
    worker_objects.DATABASE: lambda _: worker_objects.database_secret(secrets.token_urlsafe(32)),
    worker_objects.CERTIFICATE: lambda _: worker_objects.certificate_secret(
        make_certificate(worker_objects.NAMES)
    ),
    worker_objects.SIGNING_KEY: lambda _: worker_objects.signing_key_secret(make_key()),
    worker_objects.IDENTITY: lambda key: worker_objects.identity_map(
        key, [worker_objects.own_issuer()]
    ),
}


def made(words: Sequence[str], key: Callable[[], bytes]) -> str:
    """What is printed: an object, or a token.

    Args:
        words: The command's.
        key: Reads the private key.

    Raises:
        UsageError: They make no sense, or the key is none.
    """
    match words:
        case [worker_objects.IDENTITY as name]:
            return json.dumps(_MADE[name](key()))
        case [name] if name in _MADE:
            return json.dumps(_MADE[name](b""))
        case ["token", name, *rest] if len(rest) <= 2:  # noqa: PLR2004 - role and hours
            role, hours = [*rest, *("user", "8")[len(rest) :]]
            if not hours.isdecimal():
                raise UsageError(f"`{hours}` is no number of hours", "give a whole number")
            return sign(key(), name, role, now=int(time.time()), seconds=int(hours) * 3600)
    raise UsageError(
        "this is not how it is called", f"name one of {', '.join(_MADE)}, or `token NAME`"
    )


def main() -> None:
    """Print it."""
    try:
        click.echo(made(sys.argv[1:], sys.stdin.buffer.read))
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
