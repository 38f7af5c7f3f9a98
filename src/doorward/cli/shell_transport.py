"""Transport of `doorward shell`: runs commands over the owner's socket and follows them to their end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec

from doorward.cli.chat_transport import ChatTransport, no_answer_error
from doorward.cli.local_client import error_from_response
from doorward.config.home import Home
from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import SHELL_WORDS_PATH, ShellWord, TerminalRequest
from doorward.gate.executions.notices import Notice, Watcher

_decode_notice = msgspec.json.Decoder(Notice).decode


def error_from_outcome(outcome: Outcome) -> DoorwardError:
    """Return the error that an unsuccessful outcome describes."""
    return error_from_response({"code": outcome.code, "message": outcome.message, "hint": outcome.hint})


class ShellTransport(ChatTransport):
    """The chat transport, bound to one room or to none."""

    def __init__(self, home: Home, stop: Callable[[], None], room: str) -> None:
        super().__init__(home, stop)
        self.room = room

    async def check_connection(self) -> None:
        """Connect once, so that a connection problem shows before the first prompt."""
        (await self.open_connection()).close()

    async def run_in_room(self, command: str, /, **params: Any) -> Outcome:
        """Run a command as the person at this terminal, in the shell's room."""
        body = msgspec.json.encode(TerminalRequest(command=command, params=params, room=self.room))
        return msgspec.convert(await self._post("/api/run", body), Outcome)

    async def run_watched(self, command: str, params: dict[str, Any], watch: Watcher) -> Outcome:
        """Run a command and pass its notices to `watch`. Cancelling this task closes the connection and cancels it."""
        return await self._stream(TerminalRequest(command=command, params=params, room=self.room, stream=True), watch)

    async def resume(self, ticket: str, watch: Watcher) -> Outcome:
        """Run an approved call by its ticket."""
        return await self._stream(TerminalRequest(ticket=ticket, room=self.room, stream=True), watch)

    async def _stream(self, ask: TerminalRequest, watch: Watcher) -> Outcome:
        body = msgspec.json.encode(ask)
        head = (
            f"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        try:
            async with contextlib.aclosing(self._request_lines(head.encode() + body)) as answered:
                async for line in answered:
                    said = msgspec.json.decode(line)
                    if said.get("type") == "outcome":
                        return msgspec.convert(said["outcome"], Outcome)
                    if "error" in said:
                        raise error_from_response(said["error"])
                    watch(_decode_notice(line))
        except msgspec.MsgspecError as error:
            raise no_answer_error(error) from error
        raise Unreachable(
            "Doorward closed the connection before the outcome.", hint="To see whether it ran: doorward audit tail"
        )

    async def cancel(self, execution: str) -> bool:
        """Cancel an execution; True when it stops or has already ended."""
        try:
            return (await self.ask("execution/cancel", execution=execution)).code in ("ok", "conflict", "not_found")
        except DoorwardError:
            return False

    async def fetch_words(self) -> list[ShellWord]:
        """Return the words that a line can start with; empty when they cannot be loaded."""
        head = f"GET {SHELL_WORDS_PATH}?room={quote(self.room, safe='')} HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n"
        try:
            whole = b"\n".join([line async for line in self._request_lines(head.encode())])
            return msgspec.json.decode(whole, type=list[ShellWord])
        except (DoorwardError, msgspec.MsgspecError):
            return []
