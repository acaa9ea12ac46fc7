"""A person with a browser, who logs in at the provider of the cluster's part `oidc`."""

from __future__ import annotations

import re
import ssl
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx2

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_FORM = re.compile(r"<form([^>]*)>(.*?)</form>", re.DOTALL)
_INPUT = re.compile(r"<input([^>]*)>")
_ATTRIBUTE = re.compile(r'([a-z-]+)="([^"]*)"')
_PAGES = 12


class Person:
    """Fills in every form that a page has, until there are no more. Use it in a `with` block."""

    def __init__(self, authority: str, email: str, password: str) -> None:
        """Open a browser with no cookies that trusts an authority in PEM."""
        self._known = {"email": email, "password": password}
        self._http = httpx2.Client(
            verify=ssl.create_default_context(cadata=authority),
            follow_redirects=True,
            trust_env=False,
            timeout=30,
        )

    def __enter__(self) -> Self:
        """Nothing is asked yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the browser."""
        self._http.close()

    def visit(self, address: str) -> str:
        """Open an address, and do what its pages ask for; the last page."""
        page = self._http.get(address)
        for _ in range(_PAGES):
            form = _FORM.search(page.text)
            if form is None:
                return page.text
            about = dict(_ATTRIBUTE.findall(form[1]))
            fields = [dict(_ATTRIBUTE.findall(each)) for each in _INPUT.findall(form[2])]
            values = {
                field["name"]: self._known.get(field["name"], unescape(field.get("value", "")))
                for field in fields
                if "name" in field and field["name"] != "abort"
            }
            target = urljoin(str(page.url), unescape(about.get("action", "")))
            page = self._http.post(target, data=values)
        raise AssertionError(f"no end of forms: {page.text}")
