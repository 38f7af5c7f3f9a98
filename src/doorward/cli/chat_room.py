"""The room in `doorward chat`: shows its messages and events, and handles what the person types."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import click

from doorward.cli import chat_shown, report
from doorward.cli.chat_input import Typed
from doorward.cli.chat_shown import Shown
from doorward.cli.chat_way import Happened, Way
from doorward.cli.wrapping import columns, indented
from doorward.errors import DoorwardError, Refused
from doorward.model import Outcome
from doorward.rooms.people import OWNER
from doorward.visible import visible

HELP = """\
Each line you type is sent to the room as a message, except:
  approve, deny     decide a waiting approval (on a terminal also y and n, when only one is waiting)
  /who              list the members and who is online
  /search WORDS     search the messages
  /older            show earlier messages
  /help             show this help
  /quit             leave (also Ctrl-D)
A message that starts with a slash is typed with two: //like this."""
_COMMANDS = ("/who", "/search", "/older", "/help", "/quit")
_ANSWERS = {"y": "approve", "yes": "approve", "n": "deny", "no": "deny"}
_HELP_INDENT = 20
_PAGE = 20
_AGAIN = 1.0
"""Seconds before reconnecting after a lost connection."""
_SILENCE = 2.0
"""Seconds without a message and without a working AI after which a piped chat ends."""
_TYPING_LASTS = 5.0
_MARKED_AFTER = 1.0
"""Seconds after which messages on screen are marked as read."""


class _Waits(NamedTuple):
    """A pending approval and its expiry. No event reports an expiry, so the client computes it."""

    command: str
    until: float


class Chat:
    def __init__(self, way: Way, room: str, *, people: bool) -> None:
        """`people` says whether a person types at a terminal. Only then does a bare `y` answer an approval; in piped
        input it is a message like any other."""
        self._way = way
        self._room = room
        self._people = people
        self._shown = Shown()
        self._place = "/"
        """Cursor in the room's event stream, used to reconnect."""
        self._oldest = ""
        self._members: dict[str, str] = {}
        self._here: set[str] = set()
        self._typing: dict[str, float] = {}
        self._thinking: dict[str, str] = {}
        self._drafts: dict[str, tuple[str, str]] = {}
        self._heard = asyncio.Event()
        self._followed = asyncio.Event()
        """Set once the event stream is open; no input is sent before."""
        self._waiting: dict[str, _Waits] = {}
        """The approvals of this room that were shown to the person, oldest first."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._marking: asyncio.Task[None] | None = None
        self._read, self._marked = 0, 0
        """Position of the last message shown, and of the last one marked as read on the server."""
        self.code = 0
        """Exit code of the first message that could not be sent."""

    async def begin(self, last: int) -> None:
        """Show the last messages and pending approvals. Raises for a room that you cannot see."""
        facts = await self._done("room/show", name=self._room)
        self._members = {str(id): str(role) for id, role in facts["members"].items()}
        page = await self._done("room/messages", name=self._room, limit=max(1, last))
        self._place = f"/{page['revision']}"
        if last:
            self._show_page(page["items"])
        closed = " It is archived: you can read it, but not write or run commands." if facts["archived"] else ""
        where = f"You are in {self._room} (recipe {facts['recipe']}).{closed} Type /help for the commands."
        click.echo(click.style(indented(where, columns(), 0), dim=True))
        for one in reversed((await self._done("approval/list", pending=True))["items"]):
            if one["room"] == self._room:
                await self._put_to_person(str(one["id"]))

    async def follow(self, refresh: Callable[[], None]) -> None:
        """Show the room's events. After a lost connection, reconnect without missing any."""
        while True:
            lost = ""
            try:
                async for happened in self._way.follow(self._room, self._place):
                    await self._take(happened)
                    self._place = happened.id or self._place
                    refresh()
            except Refused:
                raise
            except DoorwardError as error:
                lost = error.message
            self._here, self._thinking, self._drafts = set(), {}, {}
            click.echo(click.style(f"Connection lost; reconnecting. {lost}".rstrip(), fg="yellow"))
            await asyncio.sleep(_AGAIN)

    async def talk(self, typed: Typed) -> None:
        """Handle input until it ends. With piped input, also wait for the answers."""
        await self._followed.wait()
        async for line in typed.lines():
            if line.strip() == "/quit":
                return
            if line.strip():
                await self._entered(line)
        while not typed.people and await self._more_to_come():
            pass

    async def _more_to_come(self) -> bool:
        """Whether an AI is working or an event arrived within the last seconds."""
        self._heard.clear()
        try:
            async with asyncio.timeout(_SILENCE):
                await self._heard.wait()
        except TimeoutError:
            return bool(self._thinking)
        return True

    def status(self) -> str:
        """Return the line below the prompt: who is online, who is typing, and what AIs are doing."""
        now = time.monotonic()
        parts = [f"online: {', '.join(sorted(self._here))}"] if self._here else []
        parts += [f"{who} {state}" for who, state in sorted(self._thinking.items())]
        parts += [f"{who} is typing" for who, until in sorted(self._typing.items()) if until > now]
        for sender, text in self._drafts.values():
            parts.append(f"{sender} is writing: ...{text[-60:]}" if len(text) > 60 else f"{sender} is writing: {text}")
        if waiting := self.waiting():
            parts.append(f"{len(waiting)} waiting for approval: approve or deny")
        return visible(" | ".join(parts), lines=False)

    def waiting(self) -> dict[str, str]:
        """Return the pending approvals of this room, oldest first: id to command."""
        now = time.time()
        self._waiting = {id: one for id, one in self._waiting.items() if one.until > now}
        return {id: one.command for id, one in self._waiting.items()}

    def words(self) -> list[str]:
        return [*_COMMANDS, *(f"@{name}" for name in sorted(self._members))]

    def typing(self) -> None:
        """Send a typing indicator in the background."""
        task = asyncio.get_running_loop().create_task(self._way.typing(self._room))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _entered(self, line: str) -> None:
        text = line.strip()
        word, _, rest = text.partition(" ")
        self._heard.set()
        if word == "/who":
            await self._who()
        elif word == "/search":
            await self._search(rest.strip())
        elif word == "/older":
            await self._older()
        elif word == "/help":
            for line in HELP.splitlines():
                click.echo(indented(line, columns(), _HELP_INDENT if line.startswith(" ") else 0))
        elif word.startswith("/") and not word.startswith("//"):
            click.echo(f"Unknown command {word[:40]!r}; valid: {', '.join(_COMMANDS)}.", err=True)
        elif self._people and text.lower() in _ANSWERS and (waiting := self.waiting()):
            await self._decide(_ANSWERS[text.lower()], waiting)
        else:
            said = line.replace("//", "/", 1) if text.startswith("//") else line
            await self._say(said)

    async def _say(self, text: str) -> None:
        """Send a message, and show the server's note about it if there is one."""
        outcome = await self._outcome("room/say", name=self._room, text=text)
        self.code = self.code or report.EXIT_CODES[outcome.status if outcome is not None else "failed"]
        note = outcome.result.get("note") if outcome is not None and isinstance(outcome.result, dict) else None
        if note:
            click.echo(indented(visible(str(note), lines=False), columns(), 0), err=True)

    async def _decide(self, verb: str, waiting: dict[str, str]) -> None:
        if len(waiting) > 1:
            each = ", ".join(f"{verb} {id} ({command})" for id, command in waiting.items())
            click.echo(f"Several approvals are waiting; choose one: {each}.", err=True)
            return
        (id,) = waiting
        await self._ask(f"approval/{verb}", id=id)

    async def _who(self) -> None:
        facts = await self._ask("room/show", name=self._room)
        if facts is None:
            return
        self._members = {str(id): str(role) for id, role in facts["members"].items()}
        for id, role in sorted(self._members.items()):
            here = " (online)" if id in self._here else ""
            click.echo(f"  {visible(id, lines=False)}: {role}{here}")

    async def _search(self, words: str) -> None:
        if not words:
            click.echo("Nothing to search for. Usage: /search WORDS", err=True)
            return
        found = await self._ask("room/search", name=self._room, words=words)
        if found is not None:
            fresh = Shown()
            lines = [line for item in reversed(found["items"]) for line in fresh.message(item)]
            click.echo("\n".join(lines) if lines else f"No messages match {words[:80]!r}.")

    async def _older(self) -> None:
        page = await self._ask("room/messages", name=self._room, limit=_PAGE, before=self._oldest)
        if page is not None and not self._show_page(page["items"]):
            click.echo("There are no earlier messages.")

    def _show_page(self, items: list[dict[str, Any]]) -> bool:
        """Show a page of messages, oldest first."""
        ordered = sorted(items, key=lambda item: int(item["position"]))
        for item in ordered:
            self._print(self._shown.message(item))
        if ordered:
            self._oldest = str(ordered[0]["id"])
            self._seen(int(ordered[-1]["position"]))
        return bool(ordered)

    async def _take(self, happened: Happened) -> None:
        data = happened.data
        if happened.name == "room-message":
            await self._message(data)
        elif happened.name == "room-typing":
            if data["member"] != OWNER:  # the person at this terminal
                self._typing[str(data["member"])] = time.monotonic() + _TYPING_LASTS
        elif happened.name == "room-presence":
            (self._here.add if data["here"] else self._here.discard)(str(data["member"]))
        elif happened.name == "room-draft":
            self._heard.set()
            self._drafts[str(data["id"])] = (str(data["sender"]), str(data["text"]))
            if data.get("done"):
                self._drafts.pop(str(data["id"]), None)
        elif happened.name == "room-thinking":
            self._heard.set()
            self._thinking.pop(str(data["persona"]), None)
            if data["state"] != "idle":
                self._thinking[str(data["persona"])] = "is thinking" if data["state"] == "thinking" else "is waiting"
        elif happened.name == "room-ready":
            self._here = {str(one) for one in data.get("here", ())}
            self._followed.set()
        elif happened.name == "room-error":
            raise Refused(str(data.get("detail", "")), hint=str(data.get("hint", "")))
        elif happened.name == "happened":
            await self._event(data)

    def _seen(self, position: int) -> None:
        """Note that the person saw everything up to `position`. The server is told a little later, in one call."""
        self._read = max(self._read, position)
        if self._people and self._read > self._marked and (self._marking is None or self._marking.done()):
            self._marking = asyncio.get_running_loop().create_task(self._mark(_MARKED_AFTER))

    async def _mark(self, after: float = 0.0) -> None:
        await asyncio.sleep(after)
        position = self._read
        with contextlib.suppress(DoorwardError):  # the messages then stay unread
            await self._way.ask("room/mark", name=self._room, position=position)
            self._marked = position

    async def leave(self) -> None:
        """Mark what is on screen as read, if that has not been done yet."""
        if self._marking is not None:
            self._marking.cancel()
        if self._people and self._read > self._marked:
            await self._mark()

    async def _message(self, data: dict[str, Any]) -> None:
        self._heard.set()
        self._print(self._shown.message(data))
        self._seen(int(data.get("position", 0)))
        self._drafts = {id: draft for id, draft in self._drafts.items() if draft[0] != data.get("sender")}
        self._typing.pop(str(data.get("sender")), None)

    async def _event(self, event: dict[str, Any]) -> None:
        """Handle a server event: show approvals of this room as they are requested and decided."""
        data, name = event.get("data", {}), event.get("event")
        id = str(data.get("approval", ""))
        if data.get("room") != self._room or not id:
            return
        self._heard.set()
        if name == "approval:requested":
            await self._put_to_person(id)
        elif name == "approval:decided" and (waited := self._waiting.pop(id, None)) is not None:
            self._print(chat_shown.decision(waited.command, str(data.get("state", "")), str(data.get("decider", ""))))

    async def _put_to_person(self, id: str) -> None:
        facts = await self._ask("approval/show", id=id)
        if facts is not None and facts.get("state") == "pending":
            until = datetime.fromisoformat(str(facts["expiresAt"])).timestamp()
            self._waiting[id] = _Waits(str(facts["command"]), until)
            self._print(chat_shown.approval(facts, self._people, until - time.time()))

    async def _done(self, command: str, **params: Any) -> dict[str, Any]:
        """Run a command and return its result; raises unless it is done."""
        outcome = await self._way.ask(command, **params)
        if outcome.status != "done":
            raise Refused(outcome.message, hint=outcome.hint)
        return dict(outcome.result)

    async def _ask(self, command: str, **params: Any) -> dict[str, Any] | None:
        """Run a command and return its result. On failure, show the error and return None."""
        outcome = await self._outcome(command, **params)
        if outcome is None or outcome.status != "done":
            return None
        return dict(outcome.result) if isinstance(outcome.result, dict) else {}

    async def _outcome(self, command: str, **params: Any) -> Outcome | None:
        """Run a command, show its error if any, and return its outcome; None when the server did not answer."""
        try:
            outcome: Outcome = await self._way.ask(command, **params)
        except DoorwardError as error:
            report.complain("failed", error.code, error.message, error.hint)
            return None
        if outcome.status != "done":
            report.complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return outcome

    @staticmethod
    def _print(lines: list[str]) -> None:
        if lines:
            click.echo("\n".join(lines))
