"""Problem details, as OpenAPI describes them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

MEDIA_TYPE = "application/problem+json"
_TEXT = {"type": "string"}
_NAME = "Problem"
_SCHEMA = {
    "type": "object",
    "description": "What is wrong: problem details for HTTP APIs (RFC 9457).",
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
_SAID = {"content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{_NAME}"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "What is wrong with the request", **_SAID},
    "5XX": {"description": "What is wrong here", **_SAID},
}
"""What OpenAPI says of errors, for all endpoints."""


class Described(FastAPI):
    """An application whose OpenAPI has the schema of problems once, for all endpoints."""

    def openapi(self) -> dict[str, Any]:
        """The document."""
        found = super().openapi()
        found["components"]["schemas"].setdefault(_NAME, _SCHEMA)
        return found
