"""Transport of `doorward shell`: runs commands over the owner's socket and follows them to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from doorward.cli.chat_transport import ChatTransport
from doorward.cli.local_client import error_from_response
from doorward.cli.project import current_folder
from doorward.client.effects import Send
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

    def __init__(self, home: Home, stop: Callable[[], None], room: str | None) -> None:
        """`room` is None for the room of the current folder."""
        super().__init__(home, stop)
        self.room = room or ""
        self._use_folder = room is None

    async def check_connection(self) -> None:
        """Connect once, so that a connection problem shows before the first prompt."""
        if self._use_folder:
            self.room = await self.find_room(current_folder())
        else:
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
        async with self._open_response(Send(method="POST", path="/api/run", body=body)) as response:
            async for line in response.lines():
                said = msgspec.json.decode(line)
                if said.get("type") == "outcome":
                    return msgspec.convert(said["outcome"], Outcome)
                if "error" in said:
                    raise error_from_response(said["error"])
                watch(_decode_notice(line))
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
        send = Send(method="GET", path=SHELL_WORDS_PATH, query={"room": self.room})
        try:
            async with self._open_response(send) as response:
                return msgspec.json.decode((await response.read()).body, type=list[ShellWord])
        except DoorwardError:
            return []
