"""The room in `doorward chat`: shows its messages and events, and handles what the person types."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import click

from doorward.cli import chat_view, report
from doorward.cli.approvals import can_hold
from doorward.cli.chat_input import LineInput
from doorward.cli.chat_transport import ChatTransport, RoomEvent
from doorward.cli.chat_view import RoomView
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.core.errors import DoorwardError, Refused
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome
from doorward.rooms.people import OWNER

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
_RECONNECT_SECONDS = 1.0
"""Seconds before reconnecting after a lost connection."""
_IDLE_SECONDS = 2.0
"""Seconds without a message and without a working AI after which a piped chat ends."""
_TYPING_SECONDS = 5.0
_MARK_READ_DELAY = 1.0
"""Seconds after which messages on screen are marked as read."""


class _PendingApproval(NamedTuple):
    """A pending approval and its expiry. No event reports an expiry, so the client computes it."""

    command: str
    until: float


class RoomChat:
    def __init__(self, way: ChatTransport, room: str, *, people: bool) -> None:
        """`people` says whether a person types at a terminal. Only then does a bare `y` answer an approval; in piped
        input it is a message like any other."""
        self._transport = way
        self._room = room
        self._people = people
        self._view = RoomView()
        self._cursor = "/"
        """Cursor in the room's event stream, used to reconnect."""
        self._oldest = ""
        self._members: dict[str, str] = {}
        self._online: set[str] = set()
        self._typing: dict[str, float] = {}
        self._thinking: dict[str, str] = {}
        self._drafts: dict[str, tuple[str, str]] = {}
        self._activity = asyncio.Event()
        self._stream_open = asyncio.Event()
        """Set once the event stream is open; no input is sent before."""
        self._pending: dict[str, _PendingApproval] = {}
        """The approvals of this room that were shown to the person, oldest first."""
        self._has_lost_approval = False
        """Whether an approval stopped waiting since the last line typed, so that `y` may have meant that one."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._mark_task: asyncio.Task[None] | None = None
        self._seen_position, self._marked_position = 0, 0
        """Position of the last message shown, and of the last one marked as read on the server."""
        self.code = 0
        """Exit code of the first message that could not be sent."""

    async def begin(self, last: int) -> None:
        """Show the last messages and pending approvals. Raises for a room that you cannot see."""
        facts = await self._run_or_raise("room/show", name=self._room)
        self._members = {str(id): str(role) for id, role in facts["members"].items()}
        page = await self._run_or_raise("room/messages", name=self._room, limit=max(1, last))
        self._cursor = f"/{page['revision']}"
        if last:
            self._show_page(page["items"])
        closed = " It is archived: you can read it, but not write or run commands." if facts["archived"] else ""
        if facts.get("observes"):
            closed += " It OBSERVES ONLY: its recipe refuses nothing and asks for nothing."
        where = f"You are in {self._room} (recipe {facts['recipe']}).{closed} Type /help for the commands."
        click.echo(click.style(wrap_indented(where, terminal_width(), 0), dim=True))
        for one in reversed((await self._run_or_raise("approval/list", pending=True))["items"]):
            if one["room"] == self._room:
                await self._show_approval(str(one["id"]))

    async def follow(self, refresh: Callable[[], None]) -> None:
        """Show the room's events. After a lost connection, reconnect without missing any."""
        while True:
            lost = ""
            try:
                async for happened in self._transport.follow_room(self._room, self._cursor):
                    await self._handle_stream_event(happened)
                    self._cursor = happened.id or self._cursor
                    refresh()
            except Refused:
                raise
            except DoorwardError as error:
                lost = error.message
            self._online, self._thinking, self._drafts = set(), {}, {}
            click.echo(click.style(f"Connection lost; reconnecting. {lost}".rstrip(), fg="yellow"))
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def handle_input(self, typed: LineInput) -> None:
        """Handle input until it ends. With piped input, also wait for the answers."""
        await self._stream_open.wait()
        async for line in typed.lines():
            if line.strip() == "/quit":
                return
            if line.strip():
                await self._handle_line(line)
        while not typed.people and await self._expects_more():
            pass

    async def _expects_more(self) -> bool:
        """Whether an AI is working or an event arrived within the last seconds."""
        self._activity.clear()
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                await self._activity.wait()
        except TimeoutError:
            return bool(self._thinking)
        return True

    def status(self) -> str:
        """Return the line below the prompt: who is online, who is typing, and what AIs are doing."""
        now = time.monotonic()
        parts = [f"online: {', '.join(sorted(self._online))}"] if self._online else []
        parts += [f"{who} {state}" for who, state in sorted(self._thinking.items())]
        parts += [f"{who} is typing" for who, until in sorted(self._typing.items()) if until > now]
        for sender, text in self._drafts.values():
            parts.append(f"{sender} is writing: ...{text[-60:]}" if len(text) > 60 else f"{sender} is writing: {text}")
        if waiting := self.pending_approvals():
            parts.append(f"{len(waiting)} waiting for approval: approve or deny")
        return escape_invisible(" | ".join(parts), lines=False)

    def pending_approvals(self) -> dict[str, str]:
        """Return the pending approvals of this room, oldest first: id to command."""
        now = time.time()
        left = {id: one for id, one in self._pending.items() if one.until > now}
        self._has_lost_approval = self._has_lost_approval or len(left) < len(self._pending)
        self._pending = left
        return {id: one.command for id, one in self._pending.items()}

    def completions(self) -> list[str]:
        return [*_COMMANDS, *(f"@{name}" for name in sorted(self._members))]

    def send_typing(self) -> None:
        """Send a typing indicator in the background."""
        task = asyncio.get_running_loop().create_task(self._transport.send_typing(self._room))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle_line(self, line: str) -> None:
        text = line.strip()
        word, _, rest = text.partition(" ")
        self._activity.set()
        if word == "/who":
            await self._show_members()
        elif word == "/search":
            await self._search(rest.strip())
        elif word == "/older":
            await self._show_older()
        elif word == "/help":
            for line in HELP.splitlines():
                click.echo(wrap_indented(line, terminal_width(), _HELP_INDENT if line.startswith(" ") else 0))
        elif word.startswith("/") and not word.startswith("//"):
            click.echo(f"Unknown command {word[:40]!r}; valid: {', '.join(_COMMANDS)}.", err=True)
        elif self._people and text.lower() in _ANSWERS and (waiting := self.pending_approvals()):
            await self._decide(_ANSWERS[text.lower()], waiting)
        else:
            said = line.replace("//", "/", 1) if text.startswith("//") else line
            await self._send_message(said)
        self._has_lost_approval = False

    async def _send_message(self, text: str) -> None:
        """Send a message, and show the server's note about it if there is one."""
        outcome = await self._run_command("room/say", name=self._room, text=text)
        self.code = self.code or report.EXIT_CODES[outcome.status if outcome is not None else "failed"]
        note = outcome.result.get("note") if outcome is not None and isinstance(outcome.result, dict) else None
        if note:
            click.echo(wrap_indented(escape_invisible(str(note), lines=False), terminal_width(), 0), err=True)

    async def _decide(self, verb: str, waiting: dict[str, str]) -> None:
        if len(waiting) > 1 or self._has_lost_approval:
            each = ", ".join(f"{verb} {id} ({command})" for id, command in waiting.items())
            why = "Several approvals are waiting" if len(waiting) > 1 else "Another approval was waiting until now"
            click.echo(f"{why}; choose one: {each}.", err=True)
            return
        (id,) = waiting
        await self._run_for_result(f"approval/{verb}", id=id)

    async def _show_members(self) -> None:
        facts = await self._run_for_result("room/show", name=self._room)
        if facts is None:
            return
        self._members = {str(id): str(role) for id, role in facts["members"].items()}
        for id, role in sorted(self._members.items()):
            here = " (online)" if id in self._online else ""
            click.echo(f"  {escape_invisible(id, lines=False)}: {role}{here}")

    async def _search(self, words: str) -> None:
        if not words:
            click.echo("Nothing to search for. Usage: /search WORDS", err=True)
            return
        found = await self._run_for_result("room/search", name=self._room, words=words)
        if found is not None:
            fresh = RoomView()
            lines = [line for item in reversed(found["items"]) for line in fresh.format_message(item)]
            click.echo("\n".join(lines) if lines else f"No messages match {words[:80]!r}.")

    async def _show_older(self) -> None:
        page = await self._run_for_result("room/messages", name=self._room, limit=_PAGE, before=self._oldest)
        if page is not None and not self._show_page(page["items"]):
            click.echo("There are no earlier messages.")

    def _show_page(self, items: list[dict[str, Any]]) -> bool:
        """Show a page of messages, oldest first."""
        ordered = sorted(items, key=lambda item: int(item["position"]))
        for item in ordered:
            self._print(self._view.format_message(item))
        if ordered:
            self._oldest = str(ordered[0]["id"])
            self._note_seen(int(ordered[-1]["position"]))
        return bool(ordered)

    async def _handle_stream_event(self, happened: RoomEvent) -> None:
        data = happened.data
        if happened.name == "room-message":
            await self._show_message(data)
        elif happened.name == "room-typing":
            if data["member"] != OWNER:  # the person at this terminal
                self._typing[str(data["member"])] = time.monotonic() + _TYPING_SECONDS
        elif happened.name == "room-presence":
            (self._online.add if data["here"] else self._online.discard)(str(data["member"]))
        elif happened.name == "room-draft":
            self._activity.set()
            self._drafts[str(data["id"])] = (str(data["sender"]), str(data["text"]))
            if data.get("done"):
                self._drafts.pop(str(data["id"]), None)
        elif happened.name == "room-thinking":
            self._activity.set()
            self._thinking.pop(str(data["persona"]), None)
            if data["state"] != "idle":
                self._thinking[str(data["persona"])] = "is thinking" if data["state"] == "thinking" else "is waiting"
        elif happened.name == "room-ready":
            self._online = {str(one) for one in data.get("here", ())}
            self._stream_open.set()
        elif happened.name == "room-error":
            raise Refused(str(data.get("detail", "")), hint=str(data.get("hint", "")))
        elif happened.name == "happened":
            await self._handle_server_event(data)

    def _note_seen(self, position: int) -> None:
        """Note that the person saw everything up to `position`. The server is told a little later, in one call."""
        self._seen_position = max(self._seen_position, position)
        if (
            self._people
            and self._seen_position > self._marked_position
            and (self._mark_task is None or self._mark_task.done())
        ):
            self._mark_task = asyncio.get_running_loop().create_task(self._mark_read(_MARK_READ_DELAY))

    async def _mark_read(self, after: float = 0.0) -> None:
        await asyncio.sleep(after)
        position = self._seen_position
        with contextlib.suppress(DoorwardError):  # the messages then stay unread
            await self._transport.ask("room/mark", name=self._room, position=position)
            self._marked_position = position

    async def leave(self) -> None:
        """Mark what is on screen as read, if that has not been done yet."""
        if self._mark_task is not None:
            self._mark_task.cancel()
        if self._people and self._seen_position > self._marked_position:
            await self._mark_read()

    async def _show_message(self, data: dict[str, Any]) -> None:
        self._activity.set()
        self._print(self._view.format_message(data))
        self._note_seen(int(data.get("position", 0)))
        self._drafts = {id: draft for id, draft in self._drafts.items() if draft[0] != data.get("sender")}
        self._typing.pop(str(data.get("sender")), None)

    async def _handle_server_event(self, event: dict[str, Any]) -> None:
        """Handle a server event: show approvals of this room as they are requested and decided."""
        data, name = event.get("data", {}), event.get("event")
        id = str(data.get("approval", ""))
        if data.get("room") != self._room or not id:
            return
        self._activity.set()
        if name == "approval:requested":
            await self._show_approval(id)
        elif name == "approval:held" and (held := self._pending.get(id)) is not None:
            self._pending[id] = held._replace(until=float(data["expires_at"]))
        elif name == "approval:decided" and (waited := self._pending.pop(id, None)) is not None:
            self._has_lost_approval = self._has_lost_approval or data.get("decider") != OWNER
            self._print(
                chat_view.format_decision(waited.command, str(data.get("state", "")), str(data.get("decider", "")))
            )

    async def _show_approval(self, id: str) -> None:
        facts = await self._run_for_result("approval/show", id=id)
        if facts is not None and facts.get("state") == "pending":
            if self._people and can_hold(facts):
                facts |= await self._run_for_result("approval/hold", id=id) or {}
            until = datetime.fromisoformat(str(facts["expiresAt"])).timestamp()
            self._pending[id] = _PendingApproval(str(facts["command"]), until)
            self._print(chat_view.format_approval(facts, self._people, until - time.time()))

    async def _run_or_raise(self, command: str, **params: Any) -> dict[str, Any]:
        """Run a command and return its result; raises unless it is done."""
        outcome = await self._transport.ask(command, **params)
        if outcome.status != "done":
            raise Refused(outcome.message, hint=outcome.hint)
        return dict(outcome.result)

    async def _run_for_result(self, command: str, **params: Any) -> dict[str, Any] | None:
        """Run a command and return its result. On failure, show the error and return None."""
        outcome = await self._run_command(command, **params)
        if outcome is None or outcome.status != "done":
            return None
        return dict(outcome.result) if isinstance(outcome.result, dict) else {}

    async def _run_command(self, command: str, **params: Any) -> Outcome | None:
        """Run a command, show its error if any, and return its outcome; None when the server did not answer."""
        try:
            outcome: Outcome = await self._transport.ask(command, **params)
        except DoorwardError as error:
            report.print_error("failed", error.code, error.message, error.hint)
            return None
        if outcome.status != "done":
            report.print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return outcome

    @staticmethod
    def _print(lines: list[str]) -> None:
        if lines:
            click.echo("\n".join(lines))
