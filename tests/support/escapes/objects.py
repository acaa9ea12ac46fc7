"""At another user's objects, and at what devctl writes on the user's own."""

from __future__ import annotations

from support.attempts import attempt
from support.escapes.escape import (
    AUTOMATION,
    CAPITALS,
    CYRILLIC,
    JOB,
    POD,
    SERVER,
    Escape,
    try_claim,
    try_ephemeral,
    try_job,
    try_marked_pod,
    try_pod,
    try_server,
    try_volume,
)
from support.user_attempts import (
    DEVOPS,
    EXEC,
    FRAMEWORK,
    GPU,
    HARDENED,
    HOST,
    LABEL,
    OPEN,
    OTHER,
    OTHER_JOBS,
    OTHER_SERVERS,
    OWN,
    OWN_JOBS,
    OWN_SERVERS,
    REFUSED,
    SERVERS,
    named,
    owned,
    server,
)

CAPSULE = "capsule-0123456789abcdef"
USERS = f"{SERVERS}/devserverusers"
TEAMS = f"{SERVERS}/devserverteams"
EPHEMERAL = (try_ephemeral().body or {})["spec"]
ORPHAN = {
    "apiVersion": "v1",
    "kind": "DeleteOptions",
    "propagationPolicy": "Orphan",
    # With a body, the API server ignores the query.
    "dryRun": ["All"],
}
OWNER = {
    "apiVersion": f"{DEVOPS}/v1",
    "kind": "DevServerUser",
    "name": "bob",
    "uid": "00000000-0000-4000-8000-000000000000",
}

ANOTHER_USER = (
    Escape("read secrets", attempt(f"GET {OTHER}/secrets"), 'cannot list resource "secrets"'),
    Escape(
        "read a secret by name",
        attempt(f"GET {OTHER}/secrets/token"),
        'cannot get resource "secrets"',
    ),
    Escape("list everyone's pods", attempt("GET /api/v1/pods"), 'cannot list resource "pods"'),
    Escape(
        "list everyone's servers",
        attempt(f"GET {SERVERS}/devservers"),
        'cannot list resource "devservers"',
    ),
    Escape(
        "look at a server", attempt(f"GET {OTHER_SERVERS}/lab"), 'cannot get resource "devservers"'
    ),
    Escape(
        "look at a namespace",
        attempt("GET /api/v1/namespaces/{other}"),
        'cannot get resource "namespaces"',
    ),
    Escape("list the users", attempt(f"GET {USERS}"), 'cannot list resource "devserverusers"'),
    Escape("read logs", attempt(f"GET {OTHER}/pods/lab-0/log"), 'cannot get resource "pods/log"'),
    Escape(
        "open a shell",
        attempt(f"POST {OTHER}/pods/lab-0/{EXEC}"),
        'cannot create resource "pods/exec"',
    ),
    Escape(
        "open a shell by WebSocket",
        attempt(f"GET {OTHER}/pods/lab-0/{EXEC}"),
        'cannot get resource "pods/exec"',
    ),
    Escape(
        "attach to a process",
        attempt(f"POST {OTHER}/pods/lab-0/attach?stdout=true"),
        'cannot create resource "pods/attach"',
    ),
    Escape(
        "forward a port",
        attempt(f"POST {OTHER}/pods/lab-0/portforward?ports=22"),
        'cannot create resource "pods/portforward"',
    ),
    Escape(
        "reach a pod through the API server",
        attempt(f"GET {OTHER}/pods/lab-0/proxy/"),
        'cannot get resource "pods/proxy"',
    ),
    Escape(
        "stop a server",
        attempt(f"PATCH {OTHER_SERVERS}/lab", {"spec": {"stopped": True}}),
        'cannot patch resource "devservers"',
    ),
    Escape(
        "delete a server", attempt(f"DELETE {OTHER_SERVERS}/lab"), 'cannot delete resource "devserv'
    ),
    Escape(
        "delete a job",
        attempt(f"DELETE {OTHER_JOBS}/box"),
        'cannot delete resource "ephemeralaccelerationjobs"',
    ),
    Escape(
        "delete a home",
        attempt(f"DELETE {OTHER}/persistentvolumeclaims/home-lab-0"),
        'cannot delete resource "persistentvolumeclaims"',
    ),
    Escape(
        "evict a pod",
        attempt(f"POST {OTHER}/pods/lab-0/eviction", named("lab-0")),
        'cannot create resource "pods/eviction"',
    ),
    Escape(
        "create a server there",
        attempt(f"POST {OTHER_SERVERS}", server()),
        'cannot create resource "devservers"',
    ),
    Escape(
        "create a pod there",
        attempt(f"POST {OTHER}/pods", named(spec=HARDENED)),
        'cannot create resource "pods"',
    ),
    Escape(
        "create a server there from here",
        try_server({"namespace": "{other}"}),
        "does not match the namespace",
        SERVER,
    ),
)

NAMES = (
    Escape(
        "own a server as someone else", try_server(owner="bob@company.com"), "is not you", SERVER
    ),
    Escape("own a job as someone else", try_job(owner="bob@company.com"), "is not you", JOB),
    Escape("own a server as oneself in capitals", try_server(owner="{ME}"), "is not you", SERVER),
    Escape(
        "own a server as oneself with a Cyrillic letter",
        try_server(owner="\u0430lice@company.com"),
        "should match",
        SERVER,
    ),
    Escape(
        "own a job as oneself with a Cyrillic letter",
        try_job(owner="\u0430lice@company.com"),
        "is not you",
        JOB,
    ),
    Escape(
        "give a server away",
        attempt(f"PATCH {OWN_SERVERS}/lab", {"spec": {"owner": "bob@company.com"}}),
        "the owner of a server cannot change",
        attempt(f"PATCH {OWN_SERVERS}/lab", {"spec": {"owner": "{me}"}}),
    ),
    Escape(
        "be the user in capitals",
        attempt(f"GET {OWN_SERVERS}"),
        'cannot list resource "devservers"',
        who=CAPITALS,
    ),
    Escape(
        "be the user with a Cyrillic letter",
        attempt(f"GET {OWN_SERVERS}"),
        'cannot list resource "devservers"',
        who=CYRILLIC,
    ),
    Escape("leave by a server's name", try_server({"name": "../lab"}), "Invalid value", SERVER),
    Escape(
        "be the user in automation for someone else",
        try_server(owner="bob@company.com"),
        "is not you",
        SERVER,
        AUTOMATION,
    ),
)

REFERENCES = (
    Escape(
        "share a claim of another namespace",
        try_server(sharedVolumeClaimName="{other}/home-lab-0"),
        "should match",
        try_server(sharedVolumeClaimName="mine"),
    ),
    Escape(
        "share a home",
        try_server(sharedVolumeClaimName="home-lab-0"),
        "cannot be shared",
        try_server(sharedVolumeClaimName="mine"),
    ),
    Escape(
        "share a job's volume",
        try_server(sharedVolumeClaimName="artifacts-box"),
        "cannot be shared",
        try_server(sharedVolumeClaimName="mine"),
    ),
    Escape(
        "claim a volume by name",
        try_claim(CAPSULE, volumeName="pv-of-bob"),
        "takes volume `pv-of-bob` by name",
        try_claim(CAPSULE),
    ),
    Escape(
        "take the name of somebody's home",
        try_claim("home-lab-0"),
        "is for no capsule",
        try_claim(CAPSULE),
    ),
    Escape(
        "claim a volume by name, for a pod",
        try_ephemeral(volumeName="pv-of-bob"),
        "claims volume `pv-of-bob` by name",
        try_ephemeral(),
    ),
    Escape(
        "list volumes",
        attempt("GET /api/v1/persistentvolumes"),
        'cannot list resource "persistentvolumes"',
    ),
    Escape(
        "claim another team's files by name, for a pod",
        try_ephemeral(volumeName="devctl-team.other.dev-bob"),
        "claims volume `devctl-team.other.dev-bob` by name",
        try_ephemeral(),
    ),
    Escape(
        "take the name of a team's claim",
        attempt(f"POST {OWN}/pods", {"metadata": {"name": "team"}, "spec": EPHEMERAL}),
        "would create claim `team-files`",
        attempt(f"POST {OWN}/pods", {"metadata": {"name": "made"}, "spec": EPHEMERAL}),
    ),
    Escape(
        "delete a team's claim",
        attempt(f"DELETE {OWN}/persistentvolumeclaims/team-{{name}}"),
        "is for the files of a team",
    ),
    Escape(
        "change a team's claim",
        attempt(f"PATCH {OWN}/persistentvolumeclaims/team-{{name}}", LABEL),
        'cannot patch resource "persistentvolumeclaims"',
    ),
    Escape(
        "look at the claims of all teams",
        attempt("GET /api/v1/namespaces/devctl-teams/persistentvolumeclaims"),
        'cannot list resource "persistentvolumeclaims"',
    ),
    Escape(
        "create a pod where the files of teams are",
        attempt("POST /api/v1/namespaces/devctl-teams/pods", named(spec=HARDENED)),
        'cannot create resource "pods"',
    ),
    Escape(
        "create a volume",
        attempt(
            "POST /api/v1/persistentvolumes",
            named(
                spec={
                    "accessModes": ["ReadWriteMany"],
                    "capacity": {"storage": "1Mi"},
                    "nfs": {"server": "192.0.2.1", "path": "/"},
                }
            ),
        ),
        'cannot create resource "persistentvolumes"',
    ),
    Escape(
        "bind a team's volume to another claim",
        attempt(
            "PATCH /api/v1/persistentvolumes/devctl-team.{name}.{own}",
            {"spec": {"claimRef": {"name": "mine"}}},
        ),
        'cannot patch resource "persistentvolumes"',
    ),
    Escape(
        "grow the volume of the team",
        attempt(f"PATCH {TEAMS}/{{name}}", {"spec": {"sharedStorage": {"size": "1Ti"}}}),
        'cannot patch resource "devserverteams"',
    ),
    Escape(
        "join another team",
        attempt(f"PATCH {USERS}/{{name}}", {"spec": {"team": "other"}}),
        'cannot patch resource "devserverusers"',
    ),
    Escape("mount a folder of the node", try_pod(volumes=HOST), OPEN, POD),
    Escape(
        "mount another machine's files",
        try_volume({"nfs": {"server": "192.0.2.1", "path": "/"}}),
        OPEN,
        POD,
    ),
)

MARKS = (
    Escape("label a server as devctl does", try_server({"labels": {f"{DEVOPS}/x": "y"}}), REFUSED),
    Escape(
        "label a server as devctl does, in capitals",
        try_server({"labels": {"DevOps.yourcompany.com/x": "y"}}),
        "Invalid value",
        try_server({"labels": {"team": "blue"}}),
    ),
    Escape("label a job as devctl does", try_job({"labels": {f"{GPU}/x": "y"}}), REFUSED),
    Escape("wake the operator", try_server({"annotations": {f"{DEVOPS}/wake": "y"}}), REFUSED),
    Escape(
        "set how often the operator looks",
        try_server({"annotations": FRAMEWORK}),
        "cannot be set",
        SERVER,
    ),
    Escape(
        "label a pod as a server's", try_marked_pod(labels={f"{DEVOPS}/devserver": "x"}), REFUSED
    ),
    Escape(
        "tell the operator whose a pod is",
        try_marked_pod(annotations={"operator-sdk/primary-resource": "{other}/lab"}),
        REFUSED,
    ),
    Escape(
        "hide a mark among a thousand",
        try_marked_pod(annotations={f"note-{n}": "" for n in range(1001)}),
        "at most 1000",
    ),
    Escape(
        "have a server own a pod",
        attempt(f"POST {OWN}/pods", owned("DevServer", DEVOPS)),
        REFUSED,
    ),
    Escape(
        "have another user own a server",
        try_server({"ownerReferences": [OWNER]}),
        "cannot belong to `DevServerUser/bob`",
    ),
    Escape(
        "hold a server with a finalizer",
        attempt(f"PATCH {OWN_SERVERS}/lab", {"metadata": {"finalizers": ["example.com/held"]}}),
        "server `lab` cannot have the finalizer `example.com/held`",
    ),
    Escape(
        "hold a job with a finalizer",
        try_job({"finalizers": ["example.com/held"]}),
        "job `made` cannot have the finalizer `example.com/held`",
    ),
    Escape(
        "delete a server and keep its pods",
        attempt(f"DELETE {OWN_SERVERS}/lab", ORPHAN),
        "server `lab` cannot be deleted without its pods",
        attempt(f"DELETE {OWN_SERVERS}/lab"),
    ),
    Escape(
        "write a server's status",
        attempt(f"PATCH {OWN_SERVERS}/lab/status", {"status": {"phase": "Running"}}),
        'cannot patch resource "devservers/status"',
    ),
    Escape(
        "write a job's status",
        attempt(f"PATCH {OWN_JOBS}/box/status", {"status": {"phase": "Succeeded"}}),
        'cannot patch resource "ephemeralaccelerationjobs/status"',
    ),
    Escape(
        "write a pod's status",
        attempt(f"PATCH {OWN}/pods/lab-0/status", {"status": {"message": "fine"}}),
        'cannot patch resource "pods/status"',
    ),
    Escape(
        "forge an event",
        attempt(
            f"POST {OWN}/events",
            named(involvedObject={"kind": "Pod", "name": "lab-0", "namespace": "{own}"}),
        ),
        'cannot create resource "events"',
    ),
)
