"""Runs commands: through the running server if there is one, otherwise by opening the home folder in this process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import click
import httptools
import msgspec

from doorward.cli import following, report
from doorward.cli.hospitality import hospitable
from doorward.cli.live import Live
from doorward.doors.local import Ask
from doorward.errors import BadParams, DoorwardError, Unreachable, leaves
from doorward.executions.notices import Watch
from doorward.home import Home, Lock, short_path
from doorward.model import Outcome, Request
from doorward.settings import home_folder

if TYPE_CHECKING:
    from doorward.app import House

_PATIENCE = 10.0
"""Seconds to wait for another `doorward` command to release the home folder."""


def run(ask: Ask) -> Outcome:
    """Run one command and return its outcome."""
    return msgspec.convert(_reach(lambda sock: _over(sock, "run", ask), lambda home: _directly(home, ask)), Outcome)


def follow(ask: Ask, live: Live) -> Outcome:
    """Run one command, show its output while it runs, and return its outcome. Ctrl-C cancels it."""
    try:
        return msgspec.convert(
            _reach(lambda sock: _followed(sock, ask, live), lambda home: _directly(home, ask, live)), Outcome
        )
    except following.Left as left:
        raise click.Abort from left


def explain(ask: Ask) -> dict[str, Any]:
    return dict(_reach(lambda sock: _over(sock, "explain", ask), lambda home: _explained(home, ask)))


def _reach(over: Callable[[socket.socket], Any], directly: Callable[[Home], Coroutine[Any, Any, Any]]) -> Any:
    """Use the running server, or run in this process once no other command holds the home folder."""
    home = Home(home_folder())
    home.make()
    with Lock(home) as lock:
        deadline = time.monotonic() + _PATIENCE
        while True:
            sock = connect(home)
            if sock is not None:
                return over(sock)
            if lock.take():
                return asyncio.run(directly(home))
            if time.monotonic() > deadline:
                raise lock.busy()
            time.sleep(0.02)


def connect(home: Home) -> socket.socket | None:
    """Connect to the running server; None when there is none."""
    if not home.socket.exists():
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(home.socket) as address:
            sock.connect(address)
    except OSError:
        sock.close()
        return None
    return sock


def _over(sock: socket.socket, what: str, ask: Ask) -> Any:
    connection = http.client.HTTPConnection("doorward")
    connection.sock = sock
    try:
        connection.request("POST", f"/api/{what}", _body(ask), {"Content-Type": "application/json"})
        answer = msgspec.json.decode(connection.getresponse().read())
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
        raise _silent(error) from error
    finally:
        connection.close()
    if "error" in answer:
        raise told(answer["error"])
    return answer


def _followed(sock: socket.socket, ask: Ask, live: Live) -> Any:
    body = _body(msgspec.structs.replace(ask, stream=True))
    try:
        last = asyncio.run(following.follow(sock, body, live, lambda execution: _cancelled(ask, execution)))
    except (OSError, msgspec.DecodeError, httptools.HttpParserError) as error:
        raise _silent(error) from error
    if "error" in last:
        raise told(last["error"])
    return last["outcome"]


def _cancelled(ask: Ask, execution: str) -> bool:
    """Cancel an execution, as the person here or with the same token. True when its outcome will arrive."""
    by = Ask(command="execution/cancel", params={"execution": execution})
    if ask.token:
        by = msgspec.structs.replace(by, token=ask.token, room=ask.room)
    try:
        return run(by).code in ("ok", "conflict", "not_found")
    except DoorwardError:
        return False


def _body(ask: Ask) -> bytes:
    try:
        return msgspec.json.encode(ask)
    except UnicodeEncodeError as error:
        raise BadParams("The request contains bytes that are not UTF-8 text.") from error


def _silent(error: Exception) -> Unreachable:
    return Unreachable(
        f"The running server did not answer: {error}.", hint="To see whether it ran: doorward audit tail"
    )


def told(error: dict[str, Any]) -> DoorwardError:
    """Rebuild an error from the server's response."""
    kinds = {kind.code: kind for kind in leaves()}
    return kinds.get(error["code"], Unreachable)(error["message"], hint=error.get("hint", ""))


async def _directly(home: Home, ask: Ask, live: Live | None = None) -> Any:
    """Run in this process, with the home folder opened for this one command."""
    async with _house(home) as house:
        await house.services.upstreams.look_for(ask.command)
        request = ask.request(house.services.registry)
        if live is None:
            return msgspec.to_builtins(await _handled(house, request))

        live.alone = True

        async def stop() -> None:
            execution = house.services.executions.get(live.execution)
            if execution is not None:
                execution.cancel(execution.call.caller.on_behalf_of or execution.call.caller.id)

        async with following.attention(live, stop):
            return msgspec.to_builtins(await _handled(house, request, live.notice))


async def _handled(house: House, request: Request, watch: Watch | None = None) -> Outcome:
    """Pass a request through the gate. Retries once when the call itself has just started an upstream server."""
    outcome = await house.gate.handle(request, watch)
    if outcome.code == Unreachable.code and outcome.retry_after == 0.0:
        outcome = await house.gate.handle(request, watch)
    return outcome


async def _explained(home: Home, ask: Ask) -> Any:
    async with _house(home) as house:
        await house.services.upstreams.look_for(ask.command)
        return await house.gate.explain(ask.request(house.services.registry))


@contextlib.asynccontextmanager
async def _house(home: Home) -> AsyncIterator[House]:
    from doorward.app import open_house  # noqa: PLC0415 - slow to import, and not needed with a running server

    async with open_house(home) as house:
        if house.made:
            report.note("Created the home folder:\n  " + "\n  ".join(house.made))
        for problem in house.services.recipes.problems.values():
            report.note(f"A recipe is not valid; its last valid version stays in force: {problem}")
        async with hospitable(home, house):
            yield house
