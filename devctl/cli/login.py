"""`devctl login`, `devctl logout`, and `devctl credential`, which kubectl runs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.options import command, where
from devctl.cli.shared_options import verbose
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.oidc.device_code import Code
    from devctl.oidc.registration import Registration

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def _provider_options(of_command: Callable[..., Any]) -> Callable[..., Any]:
    for flag, metavar, text in (
        ("--ca-file", "FILE", "The provider's CA, if not the system's."),
        ("--client-id", "ID", "Default: the kubeconfig's."),
        ("--issuer", "URL", "The provider. Default: the kubeconfig's."),
    ):
        of_command = click.option(flag, metavar=metavar, help=text)(of_command)
    return of_command


@click.command()
@_provider_options
@click.option("--device", is_flag=True, help="Use a browser on another machine.")
@where
@verbose
def login(issuer: str | None, client_id: str | None, ca_file: str | None, *, device: bool) -> None:
    """Log in to the cluster with your own account, in a browser.

    kubectl is logged in, too, if the kubeconfig has it run `devctl credential`.

    \b
    Examples:
      devctl login
      devctl login --device
      devctl login --issuer https://login.company.com --client-id devctl
    """
    from devctl.oidc import session  # noqa: PLC0415 - not for --help

    registration = _registration(issuer, client_id, ca_file)
    browser = not device and has_browser()
    found, kept = session.log_in(
        registration,
        visit=None if device else _visit if browser else _tell,
        show=None if browser else _show,
    )
    click.echo(f"logged in at {found.issuer} as {one_line(found.name)}", err=True)
    if not found.refresh_token:
        minutes = round((found.expires_at - found.received_at) / 60)
        click.echo(
            f"warning: the provider gave no refresh token: log in again in {minutes} minutes",
            err=True,
        )
    place = "your keyring" if kept == "keyring" else f"`{one_line(kept)}`"
    click.echo(f"tokens are in {place}; next: {command('whoami')}", err=True)


@click.command()
@_provider_options
@where
@verbose
def logout(issuer: str | None, client_id: str | None, ca_file: str | None) -> None:
    """Revoke your login at the provider, and delete its tokens here.

    A token that is in use elsewhere remains valid until it expires, usually within the hour.

    \b
    Examples:
      devctl logout
    """
    from devctl.oidc import session  # noqa: PLC0415 - not for --help

    registration = _registration(issuer, client_id, ca_file)
    was_logged_in, why = session.log_out(registration)
    if not was_logged_in:
        click.echo(f"you were not logged in at {registration.issuer}", err=True)
        return
    click.echo(f"logged out at {registration.issuer}", err=True)
    if why:
        click.echo(f"warning: the tokens were deleted here, but not revoked: {why}", err=True)


@click.command(hidden=True)
@click.option("--issuer", required=True)
@click.option("--client-id", required=True)
@click.option("--ca-data", default="")
@click.option("--client-secret", default="")
@click.option("--redirect-uri", default="")
@click.option("--scope", "scopes", multiple=True)
def credential(ca_data: str, scopes: Sequence[str], **about: str) -> None:
    """Print an ExecCredential for kubectl; the kubeconfig names this command."""
    import json  # noqa: PLC0415 - not for --help
    from datetime import UTC, datetime  # noqa: PLC0415

    from devctl.oidc import session  # noqa: PLC0415
    from devctl.oidc.registration import (  # noqa: PLC0415
        API_VERSION,
        Registration,
        decode_authority,
    )

    registration = Registration(**about, authority=decode_authority(ca_data), scopes=tuple(scopes))
    found = session.current(registration)
    expires = datetime.fromtimestamp(found.expires_at, UTC)
    status = {
        "token": found.id_token,
        "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    about_it = {"apiVersion": API_VERSION, "kind": "ExecCredential"}
    click.echo(json.dumps({**about_it, "status": status}))


def has_browser() -> bool:
    """Whether a browser on this machine can show a page to the person who typed the command."""
    if os.environ.get("BROWSER"):
        return True
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in os.environ
    import webbrowser  # noqa: PLC0415 - rarely used

    try:
        return any(map(os.environ.get, _DISPLAYS)) and bool(webbrowser.get())
    except webbrowser.Error:
        return False


def _registration(issuer: str | None, client_id: str | None, ca_file: str | None) -> Registration:
    """What the options say, completed by the kubeconfig."""
    from devctl.client.login.kubeconfig import read_authority  # noqa: PLC0415 - not for --help
    from devctl.kube.kubeconfig import find_access  # noqa: PLC0415
    from devctl.oidc.registration import Registration  # noqa: PLC0415

    if issuer and client_id:
        return Registration(issuer, client_id, read_authority(ca_file) if ca_file else "")
    place = names.connection(click.get_current_context())
    access = find_access(place["kubeconfig"], place["context"], place["namespace"])
    found = access.provider
    if found is None:
        raise UsageError(
            f"the user `{one_line(access.user_name)}` of the kubeconfig does not log in by devctl",
            "name the provider with --issuer and --client-id, or use another --context",
        )
    return replace(
        found,
        issuer=issuer or found.issuer,
        client_id=client_id or found.client_id,
        authority=read_authority(ca_file) if ca_file else found.authority,
    )


def _visit(address: str) -> None:
    import webbrowser  # noqa: PLC0415 - rarely used

    click.echo(f"log in with your browser; if it does not open, visit {address}", err=True)
    webbrowser.open(address)


def _tell(address: str) -> None:
    click.echo(f"log in with a browser on this machine: {address}", err=True)


def _show(code: Code) -> None:
    click.echo(
        f"on any machine, open {one_line(code.address)} and enter the code"
        f" {click.style(one_line(code.user_code), bold=True)}",
        err=True,
    )
    if code.whole_address:
        click.echo(f"or open {one_line(code.whole_address)}", err=True)
    click.echo("waiting until you have logged in", err=True)
