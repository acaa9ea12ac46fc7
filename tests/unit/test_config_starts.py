"""The conditions of the policies on what users run: which requests they judge.

They are evaluated here as Python, to which the part of CEL that they use translates word by word.
"""

from __future__ import annotations

import re
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from devctl.local.paths import REPOSITORY

Thing = dict[str, Any]
KINDS = {
    "devservers": "devops.yourcompany.com",
    "ephemeralaccelerationjobs": "gpu.yourdomain.io",
    "gpuworkloads": "gpu.warp.dev",
    "vllmruns": "canhazgpu.dev",
}
JOBS = KINDS.keys() - {"devservers"}
OF_TEAMS = {"devservers", "ephemeralaccelerationjobs"}
OPTIONAL = re.compile(r"(\w+)((?:\.\??\w+)+)\.orValue\(")
WORDS = {"&&": " and ", "||": " or ", "null": "None", "false": "False", "true": "True"}
BUDGETS = ("budget_user", "budget_team")


def policy(name: str) -> Thing:
    text = (REPOSITORY / "config/admission" / f"{name}.yaml").read_text()
    found: Thing = next(iter(yaml.safe_load_all(text)))
    return found


def python(expression: str) -> str:
    """An expression of CEL in Python's words."""
    text = OPTIONAL.sub(lambda m: f"optional({m[1]}, '{m[2].replace('?', '')}', ", expression)
    text = re.sub(r"&&|\|\||\b(?:null|false|true)\b", lambda m: WORDS[m[0]], text)
    text = re.sub(r"\bhas\((\w+)((?:\.\w+)+)\)", r"(optional(\1, '\2', None) is not None)", text)
    return " ".join(re.sub(r"!(?!=)", " not ", text).split())


def optional(thing: Any, path: str, default: Any) -> Any:
    """The value at a path, if all of it exists."""
    names = path.strip(".").split(".")
    found = reduce(lambda each, name: getattr(each, name, None), names, thing)
    return default if found is None else found


def holds(expression: str, **names: Any) -> bool:
    """Whether an expression is true of a request."""
    answer = eval(python(expression), {"optional": optional, **names})  # noqa: S307 - of our own files
    assert isinstance(answer, bool)
    return answer


def space(thing: Any) -> Any:
    """A dict whose keys are attributes, as deep as it goes."""
    if isinstance(thing, dict):
        return SimpleNamespace(**{key: space(value) for key, value in thing.items()})
    return thing


def names(resource: str, before: Thing | None, after: Thing) -> Thing:
    """The variables of a request that creates an object, or changes its spec."""
    operation = "CREATE" if before is None else "UPDATE"
    # The others name no team: theirs is that of the namespace's user.
    owned = {"owner": "alice"} | ({"team": "vision"} if resource in OF_TEAMS else {})
    return {
        "request": space({"operation": operation, "resource": {"resource": resource}}),
        "oldObject": None if before is None else space({"spec": owned | before}),
        "object": space({"spec": owned | after}),
        "params": space({"spec": {"username": "alice"}, "metadata": {"name": "vision"}}),
    }


def conditions(name: str) -> dict[str, str]:
    return {each["name"]: each["expression"] for each in policy(name)["spec"]["matchConditions"]}


@pytest.mark.parametrize("name", ["owners", "owner_default", "suspended", *BUDGETS])
def test_a_policy_on_users_work_covers_every_kind_of_it(name: str) -> None:
    covered = {
        (group, resource): set(rule["operations"])
        for rule in policy(name)["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    kinds = JOBS if name == "owner_default" else KINDS.keys()  # a server's schema requires an owner
    operations = {"CREATE"} if name == "owners" else {"CREATE", "UPDATE"}  # it never changes
    for resource in kinds:
        assert covered.get((KINDS[resource], resource), set()) >= operations, resource


@pytest.mark.parametrize("name", ["owners", "owner_default", "suspended", *BUDGETS])
@pytest.mark.parametrize("resource", sorted(KINDS))
def test_no_condition_exempts_a_kind(name: str, resource: str) -> None:
    found = conditions(name)
    if name in BUDGETS:
        # It reads the budget only, which says nothing about the request.
        assert not re.search(r"\b(?:request|object|oldObject)\b", found.pop("refuses"))
    asked = names(resource, None, {})
    if name == "owner_default":
        del asked["object"].spec.owner
    assert found
    for condition, expression in found.items():
        assert holds(expression, **asked), condition


STARTS: list[tuple[Thing | None, Thing, bool]] = [
    (None, {}, True),
    (None, {"stopped": False, "suspend": False}, True),
    ({"stopped": True}, {"stopped": False}, True),
    ({"stopped": True}, {}, True),
    ({"suspend": True}, {"suspend": False}, True),
    ({"suspend": True}, {}, True),
    ({}, {}, False),
    ({"stopped": False, "suspend": False}, {"image": "torch:2"}, False),
    ({}, {"stopped": True}, False),
    ({}, {"suspend": True}, False),
    ({"stopped": True}, {"stopped": True, "image": "torch:2"}, False),
    ({"suspend": True}, {"suspend": True, "image": "torch:2"}, False),
]


@pytest.mark.parametrize("name", ["suspended", *BUDGETS])
@pytest.mark.parametrize(("before", "after", "starts"), STARTS)
def test_a_start_is_a_creation_or_the_end_of_a_stop_or_of_a_suspension(
    name: str,
    before: Thing | None,
    after: Thing,
    starts: bool,  # noqa: FBT001
) -> None:
    expression = conditions(name)["starts"]
    assert holds(expression, **names("ephemeralaccelerationjobs", before, after)) is starts


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("stopped", [{"stopped": True}, {"suspend": True}])
def test_an_object_that_does_not_run_is_created_over_budget(name: str, stopped: Thing) -> None:
    assert not holds(conditions(name)["starts"], **names("devservers", None, stopped))


@pytest.mark.parametrize("name", BUDGETS)
def test_the_budget_of_somebody_else_refuses_nothing(name: str) -> None:
    asked = names("devservers", None, {"owner": "bob", "team": "audio"})
    whose = {"budget_user": "is-the-owner", "budget_team": "is-of-the-team"}[name]
    assert not holds(conditions(name)[whose], **asked)
