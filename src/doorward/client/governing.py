"""What people look after: approvals, rooms, recipes, tokens and users. They do so outside rooms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doorward.client.flows import Flow
from doorward.client.operation import operation
from doorward.client.paths import Page, part
from doorward.client.session import Session

Access = Literal["read", "edit", "full", "root"]
Kind = Literal["human", "ai", "service"]
Role = Literal["owner", "admin", "member"]


class Governing(Session):
    @operation
    def approvals(self, *, pending: bool = False, limit: int = 50) -> Flow[Page]:
        """What waits for a person, and what was decided, newest first."""
        return Page.of((yield from self._get("/api/approvals", pending=pending, limit=limit)))

    @operation
    def approval(self, id: str, /) -> Flow[dict[str, Any]]:
        """Exactly what an approval is about, and the difference it would make where that is known."""
        return dict((yield from self._get(f"/api/approvals/{part(id)}")))

    @operation
    def approve(self, id: str, /) -> Flow[dict[str, Any]]:
        """Say yes to what waits, as a person. It may then run once, exactly as shown."""
        return dict((yield from self._post(f"/api/approvals/{part(id)}/approve", {})))

    @operation
    def deny(self, id: str, /) -> Flow[dict[str, Any]]:
        """Say no to what waits, as a person."""
        return dict((yield from self._post(f"/api/approvals/{part(id)}/deny", {})))

    @operation
    def rooms(self, *, room: str | None = None) -> Flow[Page]:
        """The rooms you are a member of."""
        return Page.of((yield from self._get("/api/rooms", room=self._in(room))))

    @operation
    def room(self, name: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """One room: its recipe and members."""
        return dict((yield from self._get(f"/api/rooms/{part(name)}", room=self._in(room))))

    @operation
    def create_room(self, name: str, /, *, recipe: str) -> Flow[dict[str, Any]]:
        """Make a room that a recipe governs, with you as its owner."""
        return dict((yield from self._post("/api/rooms", {"name": name, "recipe": recipe})))

    @operation
    def set_recipe(self, name: str, recipe: str, /) -> Flow[dict[str, Any]]:
        """Put a room under another recipe. It holds from the next command on."""
        return dict((yield from self._post(f"/api/rooms/{part(name)}/recipe", {"recipe": recipe}, method="PUT")))

    @operation
    def archive_room(self, name: str, /) -> Flow[dict[str, Any]]:
        """Close a room: it stays readable, and nothing runs in it any more."""
        return dict((yield from self._post(f"/api/rooms/{part(name)}/archive", {})))

    @operation
    def add_member(
        self, name: str, member: str, /, *, role: Role = "member", kind: Literal["", "ai", "service"] = ""
    ) -> Flow[dict[str, Any]]:
        """Make somebody a member of a room, or change their role in it. An agent that nobody knows there yet has to be
        said to be one, by its `kind`."""
        path = f"/api/rooms/{part(name)}/members/{part(member)}"
        body = {"role": role, **({"kind": kind} if kind else {})}
        return dict((yield from self._post(path, body, method="PUT")))

    @operation
    def remove_member(self, name: str, member: str, /) -> Flow[dict[str, Any]]:
        """Take somebody out of a room."""
        return dict((yield from self._delete(f"/api/rooms/{part(name)}/members/{part(member)}")))

    @operation
    def messages(
        self, name: str, /, *, limit: int | None = None, before: str | None = None, room: str | None = None
    ) -> Flow[Page]:
        """What was said in a room, newest first; `before` takes the `next` of the page before."""
        query = {"limit": limit, "before": before, "room": self._in(room)}
        return Page.of((yield from self._get(f"/api/rooms/{part(name)}/messages", **query)))

    @operation
    def say(self, name: str, text: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Say something in a room."""
        return dict((yield from self._post(f"/api/rooms/{part(name)}/messages", {"text": text}, room=self._in(room))))

    @operation
    def recipes(self) -> Flow[Page]:
        """The recipes, and what each is for."""
        return Page.of((yield from self._get("/api/recipes")))

    @operation
    def recipe(self, id: str, /) -> Flow[dict[str, Any]]:
        """A recipe as it is in force."""
        return dict((yield from self._get(f"/api/recipes/{part(id)}")))

    @operation
    def put_recipe(self, id: str, recipe: Mapping[str, Any], /) -> Flow[dict[str, Any]]:
        """Check a recipe and put it in force. One that is not valid changes nothing."""
        return dict((yield from self._post(f"/api/recipes/{part(id)}", recipe, method="PUT")))

    @operation
    def tokens(self) -> Flow[Page]:
        """The tokens of your tenant: whose they are and until when; never the tokens themselves."""
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
        """Make a token for an agent or a program, good for some rooms only. It is shown this once."""
        given = {"name": name, "kind": kind, "access": access, "rooms": rooms, "days": days, "user": user}
        return dict((yield from self._post("/api/tokens", {key: one for key, one in given.items() if one is not None})))

    @operation
    def revoke_token(self, id: str, /) -> Flow[dict[str, Any]]:
        """Make a token worthless at once."""
        return dict((yield from self._delete(f"/api/tokens/{part(id)}")))

    @operation
    def users(self) -> Flow[Page]:
        """The users of your tenant, with their access."""
        return Page.of((yield from self._get("/api/users")))
