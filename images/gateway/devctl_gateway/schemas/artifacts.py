"""Files that jobs have written."""

from __future__ import annotations

from pydantic import BaseModel, Field

from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.times import Time


class Artifact(BaseModel):
    """A file, as it was when it was looked at: a job that runs may change it."""

    path: str = Field(description="Below /artifacts; `GET jobs/{id}/artifacts/{path}` has it.")
    size: int = Field(ge=0, description="In bytes.")
    modified: Time


class Artifacts(PageOf[Artifact]):
    """A page of a job's files."""

    truncated: bool = Field(
        description="Whether there is more than a list shows, on any page: too many entries, or "
        "folders too deep. Their files can be had by their paths, unless these are too long."
    )
