"""Where all come in: from a header to who asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from devctl_gateway.context import Context
from devctl_gateway.errors import ForbiddenError
from devctl_gateway.identity import keys
from devctl_gateway.identity.bearer import Secret, WebToken, parse_authorization, refused
from devctl_gateway.identity.issuers import read_issuers
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.identity.registrar import Registration
from devctl_gateway.identity.reviews import AGENT, AUDIENCE, reviewed_node
from devctl_gateway.identity.secrets import same
from devctl_gateway.identity.tokens import Verifier
from devctl_gateway.identity.users import Users
from devctl_gateway.store import registration_tokens
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.keys import note_use


class Gate:
    """Proves who asks.

    Args:
        context: Of the process; its identity file is read now.
        admit: Counts a request of a principal, by their ID.

    Raises:
        ValueError: The identity file is not valid.
        OSError: It cannot be read.
    """

    def __init__(self, context: Context, admit: Callable[[str], None]) -> None:
        """Read whose tokens are accepted."""
        self._context, self._admit = context, admit
        self._verifier = Verifier(read_issuers(context.settings.identity_file))
        self._users = Users(context)

    async def principal(self, headers: Sequence[str]) -> Principal:
        """Who asks, by the headers Authorization of their request.

        Raises:
            UnauthenticatedError: It is not proven.
            TooManyRequestsError: They ask too often.
            UnavailableError: It cannot be found out now.
        """
        shown = parse_authorization(headers)
        if isinstance(shown, WebToken):
            return await self._user(shown)
        if shown.registers:
            raise refused("a registration token registers nodes, and nothing else")
        return await self._holder(shown)

    async def registration(self, headers: Sequence[str]) -> Registration:
        """Leave to register a node.

        Raises:
            UnauthenticatedError: Who asks is not proven.
            ForbiddenError: It is proven, and they may not.
            TooManyRequestsError: They ask too often.
            UnavailableError: It cannot be found out now.
        """
        shown = parse_authorization(headers)
        if isinstance(shown, Secret):
            if shown.registers:
                return await self._registration(shown)
            await self._holder(shown)
        elif shown.bound:
            status = await self._context.cluster.review(shown.text, AUDIENCE)
            node_name = reviewed_node(status)
            self._admit(f"{AGENT}/{node_name}")
            return Registration(AGENT, node_name)
        else:
            user = await self._user(shown)
            if Role.OPERATOR in user.roles:
                return Registration(user.id)
        raise ForbiddenError(
            "registering nodes needs a registration token or the role `operator`",
            "ask an operator of nodes for a registration token",
        )

    async def _user(self, token: WebToken) -> Principal:
        user = await self._users.principal(await self._verifier.verify(token))
        self._admit(user.id)
        return user

    async def _holder(self, secret: Secret) -> Principal:
        now = self._context.clock()
        async with connect(self._context.engine) as connection:
            held = await keys.find_held(connection, secret, now)
        if held is None:
            raise refused()
        self._admit(held.principal.id)
        if held.unnoted:
            async with begin(self._context.engine) as connection:
                await note_use(connection, held.principal.key_id, now)
        return held.principal

    async def _registration(self, secret: Secret) -> Registration:
        async with connect(self._context.engine) as connection:
            token = await registration_tokens.find(connection, secret.prefix)
        known = same(secret.secret, None if token is None else token["hash"])
        if token is None or not known:
            raise refused()
        self._admit(token["id"])
        return Registration(token["id"], token_id=token["id"])
