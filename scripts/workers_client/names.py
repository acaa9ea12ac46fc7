"""What components of the document are called in Python."""

from __future__ import annotations

import re

_PAGE = re.compile(r"PageOf_(\w+)_")
_RENAMED = {"Job": "WorkerJob"}
"""Components whose name another class of the SDK has."""


def class_name(component: str) -> str:
    """The class of a component.

    >>> class_name("PageOf_Node_"), class_name("Job")
    ('NodePage', 'WorkerJob')
    """
    if page := _PAGE.fullmatch(component):
        return f"{class_name(page[1])}Page"
    return _RENAMED.get(component, component)


def is_page(component: str) -> bool:
    """Whether it is a part of a list.

    >>> is_page("PageOf_Job_"), is_page("AvailableNodes")
    (True, False)
    """
    return _PAGE.fullmatch(component) is not None
