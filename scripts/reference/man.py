"""Man pages of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.core import publish_string
from docutils.writers.manpage import Writer
from reference import rst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference.commands import Page


def man_pages(pages: Iterable[Page], version: str) -> dict[str, str]:
    """Man pages in section 1, by the name of the file.

    Args:
        pages: The commands.
        version: Of the package.
    """
    return {f"{page.name}.1": _man_page(page, version) for page in pages}


def _man_page(page: Page, version: str) -> str:
    short = rst.text(page.short)
    source = "\n".join(
        [
            rst.title(page.name),
            rst.title(short, "~"),
            ":Manual section: 1",
            ":Manual group: devctl",
            f":Version: {version}\n",
            rst.title("Synopsis", "-"),
            page.body,
        ]
    )
    settings = {"report_level": 2, "halt_level": 2, "output_encoding": "unicode"}
    return str(publish_string(source, writer=Writer(), settings_overrides=settings))
