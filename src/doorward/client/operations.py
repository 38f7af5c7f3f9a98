"""All operations of the client, written once for the blocking and the asynchronous client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doorward.client import responses
from doorward.client.activity import ActivityOperations
from doorward.client.commands import CommandOperations
from doorward.client.descriptors import operation
from doorward.client.effects import Flow, Send
from doorward.client.encoding import Page, encode_body, quote_part
from doorward.client.keeper import KeeperOperations
from doorward.client.session import ClientSession


class AccountOperations(ClientSession):
    @operation
    def login(self, tenant: str, user: str, password: str) -> Flow[None]:
        """Log in with a password. The access token is renewed automatically; the password is not stored."""
        yield from self._authenticate("login", {"tenant": tenant, "user": user, "password": password})

    @operation
    def register(self, tenant: str, user: str, password: str, *, passcode: str = "", name: str = "") -> Flow[None]:
        """Create a tenant with this person as its first user, and log in as them.

        If the server requires a passcode, its owner creates one with the command `user/invite`. It works once.
        """
        given = {"tenant": tenant, "user": user, "password": password, "passcode": passcode, "name": name}
        yield from self._authenticate("register", {key: value for key, value in given.items() if value})

    @operation
    def logout(self) -> Flow[None]:
        """Log out, on the server too. The client then uses the token it was created with, if any."""
        login, self._login = self._login, None
        if login is not None and login.refresh:
            body = encode_body({"refreshToken": login.refresh})
            responses.decode_value(
                (yield from self._send_with_retries(Send(method="POST", path="/api/auth/logout", body=body)))
            )

    @operation
    def me(self) -> Flow[dict[str, Any]]:
        """Return the current identity."""
        return dict((yield from self._get("/api/me")))

    def _authenticate(self, how: str, given: dict[str, str]) -> Flow[None]:
        send = Send(method="POST", path=f"/api/auth/{how}", body=encode_body(given))
        self._store_login((yield from self._send_with_retries(send)))


Access = Literal["read", "edit", "full", "root"]
Kind = Literal["human", "ai", "service"]
Role = Literal["owner", "admin", "member"]


class ManagementOperations(ClientSession):
    @operation
    def approvals(self, *, pending: bool = False, limit: int = 50) -> Flow[Page]:
        """List approvals, newest first; `pending` limits the list to those waiting for a decision."""
        return Page.of((yield from self._get("/api/approvals", pending=pending, limit=limit)))

    @operation
    def approval(self, id: str, /) -> Flow[dict[str, Any]]:
        """Show exactly what an approval would run, and what it would change if known."""
        return dict((yield from self._get(f"/api/approvals/{quote_part(id)}")))

    @operation
    def approve(self, id: str, /, *, scope: str = "once", rule: str = "exact") -> Flow[dict[str, Any]]:
        """Approve a waiting call, as a person. It may then run once, exactly as shown.

        With the scope `session` or `always`, later calls that the rule covers run without asking.
        """
        lasting = {"scope": scope, "rule": rule} if scope != "once" else {}
        return dict((yield from self._post(f"/api/approvals/{quote_part(id)}/approve", lasting)))

    @operation
    def deny(self, id: str, /, *, reason: str = "") -> Flow[dict[str, Any]]:
        """Deny a waiting call, as a person. The caller reads the reason."""
        given = {"reason": reason} if reason else {}
        return dict((yield from self._post(f"/api/approvals/{quote_part(id)}/deny", given)))

    @operation
    def rooms(self, *, room: str | None = None) -> Flow[Page]:
        """List the rooms you are a member of."""
        return Page.of((yield from self._get("/api/rooms", room=self._resolve_room(room))))

    @operation
    def room(self, name: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Show a room with its recipe and members."""
        return dict((yield from self._get(f"/api/rooms/{quote_part(name)}", room=self._resolve_room(room))))

    @operation
    def create_room(self, name: str, /, *, recipe: str) -> Flow[dict[str, Any]]:
        """Create a room under a recipe, with you as its owner."""
        return dict((yield from self._post("/api/rooms", {"name": name, "recipe": recipe})))

    @operation
    def set_recipe(self, name: str, recipe: str, /) -> Flow[dict[str, Any]]:
        """Change a room's recipe. It applies from the next command on."""
        return dict((yield from self._post(f"/api/rooms/{quote_part(name)}/recipe", {"recipe": recipe}, method="PUT")))

    @operation
    def archive_room(self, name: str, /) -> Flow[dict[str, Any]]:
        """Archive a room. It stays readable, but nothing runs in it."""
        return dict((yield from self._post(f"/api/rooms/{quote_part(name)}/archive", {})))

    @operation
    def add_member(
        self, name: str, member: str, /, *, role: Role = "member", kind: Literal["", "ai", "service"] = ""
    ) -> Flow[dict[str, Any]]:
        """Add a member to a room, or change their role. For an agent that the server does not know yet, give its
        `kind`."""
        path = f"/api/rooms/{quote_part(name)}/members/{quote_part(member)}"
        body = {"role": role, **({"kind": kind} if kind else {})}
        return dict((yield from self._post(path, body, method="PUT")))

    @operation
    def remove_member(self, name: str, member: str, /) -> Flow[dict[str, Any]]:
        """Remove a member from a room."""
        return dict((yield from self._delete(f"/api/rooms/{quote_part(name)}/members/{quote_part(member)}")))

    @operation
    def messages(
        self, name: str, /, *, limit: int | None = None, before: str | None = None, room: str | None = None
    ) -> Flow[Page]:
        """List the messages of a room, newest first; `before` is the `next` of the previous page."""
        query = {"limit": limit, "before": before, "room": self._resolve_room(room)}
        return Page.of((yield from self._get(f"/api/rooms/{quote_part(name)}/messages", **query)))

    @operation
    def say(self, name: str, text: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Send a message to a room."""
        return dict(
            (
                yield from self._post(
                    f"/api/rooms/{quote_part(name)}/messages", {"text": text}, room=self._resolve_room(room)
                )
            )
        )

    @operation
    def recipes(self) -> Flow[Page]:
        """List the recipes with their descriptions."""
        return Page.of((yield from self._get("/api/recipes")))

    @operation
    def recipe(self, id: str, /) -> Flow[dict[str, Any]]:
        """Show a recipe as it is in force now."""
        return dict((yield from self._get(f"/api/recipes/{quote_part(id)}")))

    @operation
    def put_recipe(self, id: str, recipe: Mapping[str, Any], /) -> Flow[dict[str, Any]]:
        """Check a recipe and put it in force. An invalid one changes nothing."""
        return dict((yield from self._post(f"/api/recipes/{quote_part(id)}", recipe, method="PUT")))

    @operation
    def tokens(self) -> Flow[Page]:
        """List your tenant's tokens with their owner and expiry. The tokens themselves are never shown."""
        return Page.of((yield from self._get("/api/tokens")))

    @operation
    def create_token(
        self,
        name: str,
        /,
        *,
        kind: Kind = "ai",
        access: Access | None = None,
        rooms: list[str] | None = None,
        days: float | None = None,
        user: str | None = None,
    ) -> Flow[dict[str, Any]]:
        """Create a token for an agent or a program, optionally for some rooms only. It is shown only once."""
        given = {"name": name, "kind": kind, "access": access, "rooms": rooms, "days": days, "user": user}
        return dict((yield from self._post("/api/tokens", {key: one for key, one in given.items() if one is not None})))

    @operation
    def revoke_token(self, id: str, /) -> Flow[dict[str, Any]]:
        """Revoke a token at once."""
        return dict((yield from self._delete(f"/api/tokens/{quote_part(id)}")))

    @operation
    def users(self) -> Flow[Page]:
        """List the users of your tenant with their access."""
        return Page.of((yield from self._get("/api/users")))


class Operations(CommandOperations, KeeperOperations, ActivityOperations, ManagementOperations, AccountOperations):
    """The operations. On a `Client` each returns its result; on an `AsyncClient` each is awaited.

    A refused or failed call raises one of the errors of `doorward.core.errors`; a call that waits for approval raises
    `Parked`. Operations that agents use too (running and reading) act in the client's room unless you give another.
    Operations for people only (approvals, rooms, tokens) act outside rooms.
    """
