"""What a user tries in order to get out of their namespace, or at more than they were given.

The words are those of support.user_attempts: `{own}` is the user's namespace and a flavor,
`{other}` another user's, `{me}` the user. `{ME}` is the user in capitals, `{name}` their object,
`{csr}` the request of a certificate and `{csr_name}` its name. In both namespaces there are a
server `lab`, a job `box` and a secret `token`; in the user's also the claim of a team, named after
the user's object. docs/tenancy.md lists all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.escapes.machines import NODES, QUEUES
from support.escapes.objects import ANOTHER_USER, MARKS, NAMES, REFERENCES
from support.escapes.rights import IDENTITY, PLATFORM, RIGHTS, TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.escapes.escape import Escape

TOPICS: Mapping[str, Sequence[Escape]] = {
    "Another user": ANOTHER_USER,
    "Names": NAMES,
    "References": REFERENCES,
    "What devctl writes": MARKS,
    "Quota, queue and priority": QUEUES,
    "Nodes": NODES,
    "Identity": IDENTITY,
    "Rights": RIGHTS,
    "Traffic": TRAFFIC,
    "The platform": PLATFORM,
}
ESCAPES = tuple(escape for group in TOPICS.values() for escape in group)
