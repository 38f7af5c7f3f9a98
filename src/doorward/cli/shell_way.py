"""Transport of `doorward shell`: runs commands over the owner's socket and follows them to their end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec

from doorward.cli.chat_way import Way, silent
from doorward.cli.client import told
from doorward.doors.local import Ask
from doorward.doors.typable import PATH, Word
from doorward.errors import DoorwardError, Unreachable
from doorward.executions.notices import Notice, Watch
from doorward.home import Home
from doorward.model import Outcome

_notice = msgspec.json.Decoder(Notice).decode


def refused(outcome: Outcome) -> DoorwardError:
    """Return the error that an unsuccessful outcome describes."""
    return told({"code": outcome.code, "message": outcome.message, "hint": outcome.hint})


class ShellWay(Way):
    """The chat transport, bound to one room or to none."""

    def __init__(self, home: Home, stop: Callable[[], None], room: str) -> None:
        super().__init__(home, stop)
        self.room = room

    async def knock(self) -> None:
        """Connect once, so that a connection problem shows before the first prompt."""
        (await self.reach()).close()

    async def put(self, command: str, /, **params: Any) -> Outcome:
        """Run a command as the person at this terminal, in the shell's room."""
        body = msgspec.json.encode(Ask(command=command, params=params, room=self.room))
        return msgspec.convert(await self._post("/api/run", body), Outcome)

    async def watched(self, command: str, params: dict[str, Any], watch: Watch) -> Outcome:
        """Run a command and pass its notices to `watch`. Cancelling this task closes the connection and cancels it."""
        return await self._streamed(Ask(command=command, params=params, room=self.room, stream=True), watch)

    async def resumed(self, ticket: str, watch: Watch) -> Outcome:
        """Run an approved call by its ticket."""
        return await self._streamed(Ask(ticket=ticket, room=self.room, stream=True), watch)

    async def _streamed(self, ask: Ask, watch: Watch) -> Outcome:
        body = msgspec.json.encode(ask)
        head = (
            f"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        try:
            async with contextlib.aclosing(self._answered(head.encode() + body)) as answered:
                async for line in answered:
                    said = msgspec.json.decode(line)
                    if said.get("type") == "outcome":
                        return msgspec.convert(said["outcome"], Outcome)
                    if "error" in said:
                        raise told(said["error"])
                    watch(_notice(line))
        except msgspec.MsgspecError as error:
            raise silent(error) from error
        raise Unreachable(
            "Doorward closed the connection before the outcome.", hint="To see whether it ran: doorward audit tail"
        )

    async def cancel(self, execution: str) -> bool:
        """Cancel an execution; True when it stops or has already ended."""
        try:
            return (await self.ask("execution/cancel", execution=execution)).code in ("ok", "conflict", "not_found")
        except DoorwardError:
            return False

    async def words(self) -> list[Word]:
        """Return the words that a line can start with; empty when they cannot be loaded."""
        head = f"GET {PATH}?room={quote(self.room, safe='')} HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n"
        try:
            whole = b"\n".join([line async for line in self._answered(head.encode())])
            return msgspec.json.decode(whole, type=list[Word])
        except (DoorwardError, msgspec.MsgspecError):
            return []
