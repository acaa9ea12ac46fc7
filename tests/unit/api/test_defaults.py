"""What counts as filled in is what the schemas fill in."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devctl.api import defaults as module
from devctl.api import flavors
from devctl.api.defaults import FLAVOR, SERVER, filled
from devctl.api.pod_spec import FIELDS
from devctl.local.paths import REPOSITORY

JSON = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*SERVER, "backend"]), inner),
)


@pytest.mark.parametrize("module", [module, flavors])
def test_its_examples_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def of(schema: dict[str, Any]) -> Any:
    """What a schema fills in, as `filled` takes it; None where it fills nothing in."""
    if "default" in schema:
        return schema["default"]
    if "items" in schema:
        return [inner] if (inner := of(schema["items"])) else None
    found = {name: of(inner) for name, inner in schema.get("properties", {}).items()}
    return {name: value for name, value in found.items() if value is not None} or None


def schema(kind: str) -> Any:
    definition = yaml.safe_load((REPOSITORY / f"config/crd/{kind}.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def test_they_are_those_of_the_schemas() -> None:
    server, flavor = of(schema("devserver")), of(schema("devserverflavor"))
    assert {name: value for name, value in server.items() if name in FIELDS} == SERVER
    assert flavors.pod_part(flavor) == FLAVOR


@given(JSON)
def test_what_is_filled_stays_so_and_keeps_what_it_has(value: Any) -> None:
    once = filled(value, SERVER)
    assert filled(once, SERVER) == once
    if isinstance(value, dict):
        assert value.keys() <= once.keys()
