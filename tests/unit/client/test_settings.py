"""What an administrator has set, and that nobody has to have set anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.client.settings import default_image, loader_image
from unit.client.objects import settings

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


def test_images(api: FakeApi) -> None:
    api.add("configmaps", settings(image="servers:1", loaderImage="loader:1"))
    assert default_image(api.cluster()) == "servers:1"
    assert loader_image(api.cluster()) == "loader:1"
    api.add("configmaps", settings(image="servers:1"))
    assert loader_image(api.cluster()) == "servers:1"


@pytest.mark.parametrize("code", [403, 404])
def test_without_any_there_is_none(api: FakeApi, code: int) -> None:
    api.refusals["GET", "configmaps"] = (code, "configmaps is not for you")
    assert default_image(api.cluster()) == loader_image(api.cluster()) == ""
