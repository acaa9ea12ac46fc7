"""The gateway's programs: `python -m devctl_gateway COMMAND`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys

from sqlalchemy.exc import OperationalError

from devctl_gateway.reconcile import reconcile
from devctl_gateway.serve import serve
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import make_engine
from devctl_gateway.store.migrating import HEAD, migrate, wait_for


def main() -> None:
    """Run one of them; the exit code is 1 if it says what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m devctl_gateway", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    schema = commands.add_parser("migrate", help="bring the database's schema to a revision")
    schema.add_argument("--to", default=HEAD, metavar="REVISION", help="default: the newest one")
    commands.add_parser("serve", help="serve the API")
    books = commands.add_parser("reconcile", help="compute all charges again; 1 if some differ")
    books.add_argument("--json", action="store_true", help="print the differences as JSON")
    books.add_argument("--books-only", action="store_true", help="do not ask the cluster")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        settings = Settings.from_environment()
        if given.command == "serve":
            sys.exit(serve(settings))
        if given.command == "reconcile":
            sys.exit(
                asyncio.run(reconcile(settings, books_only=given.books_only, as_json=given.json))
            )
        else:
            asyncio.run(_migrate(settings, given.to))
    except (ValueError, OperationalError) as error:
        sys.exit(f"error: {error}")


async def _migrate(settings: Settings, to: str) -> None:
    engine = make_engine(settings.database)
    try:
        await wait_for(engine)
        before, after = await migrate(engine, to)
    finally:
        await engine.dispose()
    logging.getLogger(__name__).info("schema: %s, was %s", after or "none", before or "none")


if __name__ == "__main__":
    main()
