"""Problem details, as OpenAPI describes them."""

from __future__ import annotations

from typing import Any

MEDIA_TYPE = "application/problem+json"
_TEXT = {"type": "string"}
_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {**_TEXT, "description": "What programs tell problems apart by."},
        "title": {**_TEXT, "description": "The sort of problem."},
        "status": {"type": "integer", "description": "HTTP's."},
        "detail": {**_TEXT, "description": "What happened this time, and what to do."},
        "instance": {**_TEXT, "description": "The path of the request."},
        "request_id": {**_TEXT, "description": "By which the request is found in the logs."},
        "errors": {
            "type": "array",
            "description": "Fields that are not valid.",
            "items": {
                "type": "object",
                "required": ["field", "message", "code"],
                "properties": {"field": _TEXT, "message": _TEXT, "code": _TEXT},
            },
        },
    },
}
_SAID = {"content": {MEDIA_TYPE: {"schema": _SCHEMA}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "What is wrong with the request", **_SAID},
    "5XX": {"description": "What is wrong here", **_SAID},
}
"""What OpenAPI says of errors, for all endpoints."""
