"""Runs commands: through the running server if there is one, otherwise by opening the home folder in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from doorward.cli import report
from doorward.cli.live_view import LiveView
from doorward.cli.mcp_sidecar import mcp_sidecar
from doorward.client import owner_socket
from doorward.client.effects import NoResponse, Send
from doorward.config.home import Home, HomeLock, short_path
from doorward.config.settings import find_home_folder
from doorward.core.errors import BadParams, DoorwardError, Unreachable, concrete_errors
from doorward.core.model import Outcome, Request
from doorward.core.strictjson import DECODE_ERRORS
from doorward.doors.terminal.messages import ROOM_OF_FOLDER_PATH, TerminalRequest
from doorward.gate.executions.notices import Notice, Watcher
from doorward.rooms.people import LOCAL

if TYPE_CHECKING:
    from doorward.app import House
from typing import TypeVar

_TICK = 0.125
_ID_TIMEOUT = 1.0
"""Seconds that Ctrl-C waits for the execution's id; without one, the connection is closed instead."""
EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_NOTICE_TYPES = frozenset({"started", "output", "progress", "logged", "asked", "step"})
_decode_notice = msgspec.json.Decoder(Notice).decode


class Disconnected(Exception):
    """The person stopped the command by closing the connection: before it started, or because cancelling failed."""


@contextlib.asynccontextmanager
async def handle_interrupts(live: LiveView, stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Draw progress and handle Ctrl-C: the first one calls `stop`, a second one exits at once."""
    work = asyncio.current_task()
    if work is None:
        raise RuntimeError("attention() must run inside a task")
    stopping: list[asyncio.Task[None]] = []

    async def cancel() -> None:
        try:
            async with asyncio.timeout(_ID_TIMEOUT):
                await live.execution_known.wait()
        except TimeoutError:
            work.cancel()
        else:
            await stop()

    def interrupted() -> None:
        if stopping:
            os._exit(EXIT_INTERRUPTED)
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
        stopping.append(asyncio.ensure_future(cancel()))
        live.stop()

    async def tick() -> None:
        while True:
            await asyncio.sleep(_TICK)
            live.tick()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    ticking = asyncio.ensure_future(tick())
    try:
        yield
    except asyncio.CancelledError:
        if stopping:
            raise Disconnected from None
        raise
    finally:
        ticking.cancel()
        for task in stopping:
            await asyncio.wait([task])
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        live.end_line()


async def stream_run(sock: socket.socket, body: bytes, live: LiveView, cancel: Callable[[str], bool]) -> dict[str, Any]:
    """Send a request to the running server, pass its notices to `live`, and return the last message.

    `cancel(execution)` asks the server to cancel it, on a separate connection. If that fails, closing this connection
    cancels it.
    """
    work = asyncio.current_task()

    async def stop() -> None:
        if not await asyncio.to_thread(cancel, live.execution) and work is not None:
            work.cancel()

    send = Send(method="POST", path="/api/run", body=body)
    async with handle_interrupts(live, stop), owner_socket.open_response(sock, send) as response:
        async for line in response.lines():
            said = msgspec.json.decode(line)
            if said.get("type") not in _NOTICE_TYPES:
                return dict(said)
            live.handle_notice(_decode_notice(line))
        raise Unreachable(
            "The running server closed the connection before the outcome.",
            hint="To see whether it ran: doorward audit tail",
        )


_PATIENCE = 10.0
"""Seconds to wait for another `doorward` command to release the home folder."""


def run(ask: TerminalRequest) -> Outcome:
    """Run one command and return its outcome."""
    return msgspec.convert(
        _dispatch(lambda sock: _post(sock, "run", ask), lambda home: _run_in_process(home, ask)), Outcome
    )


def follow(ask: TerminalRequest, live: LiveView) -> Outcome:
    """Run one command, show its output while it runs, and return its outcome. Ctrl-C cancels it."""
    try:
        return msgspec.convert(
            _dispatch(lambda sock: _follow_over_socket(sock, ask, live), lambda home: _run_in_process(home, ask, live)),
            Outcome,
        )
    except Disconnected as left:
        raise click.Abort from left


def explain(ask: TerminalRequest) -> dict[str, Any]:
    return dict(_dispatch(lambda sock: _post(sock, "explain", ask), lambda home: _explain_in_process(home, ask)))


def find_room(folder: str) -> str:
    """Return the room whose workspace contains a folder; empty if there is none."""
    send = Send(method="GET", path=ROOM_OF_FOLDER_PATH, query={"folder": folder})
    return str(_dispatch(lambda sock: _request(sock, send), lambda home: _find_room_in_process(home, folder))["room"])


def _dispatch(over: Callable[[socket.socket], Any], directly: Callable[[Home], Coroutine[Any, Any, Any]]) -> Any:
    """Use the running server, or run in this process once no other command holds the home folder."""
    home = Home(find_home_folder())
    home.create()
    with HomeLock(home) as lock:
        deadline = time.monotonic() + _PATIENCE
        while True:
            sock = connect(home)
            if sock is not None:
                return over(sock)
            if lock.take():
                return asyncio.run(directly(home))
            if time.monotonic() > deadline:
                raise lock.busy_error()
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


def _post(sock: socket.socket, what: str, ask: TerminalRequest) -> Any:
    return _request(sock, Send(method="POST", path=f"/api/{what}", body=_encode_request(ask)))


def _request(sock: socket.socket, send: Send) -> Any:
    try:
        answer = msgspec.json.decode(asyncio.run(owner_socket.request(sock, send)).body)
    except (NoResponse, *DECODE_ERRORS) as error:
        raise _no_answer_error(error) from error
    if "error" in answer:
        raise error_from_response(answer["error"])
    return answer


def _follow_over_socket(sock: socket.socket, ask: TerminalRequest, live: LiveView) -> Any:
    body = _encode_request(msgspec.structs.replace(ask, stream=True))
    try:
        last = asyncio.run(stream_run(sock, body, live, lambda execution: _cancel(ask, execution)))
    except (NoResponse, *DECODE_ERRORS) as error:
        raise _no_answer_error(error) from error
    if "error" in last:
        raise error_from_response(last["error"])
    return last["outcome"]


def _cancel(ask: TerminalRequest, execution: str) -> bool:
    """Cancel an execution, as the person here or with the same token. True when its outcome will arrive."""
    by = TerminalRequest(command="execution/cancel", params={"execution": execution})
    if ask.token:
        by = msgspec.structs.replace(by, token=ask.token, room=ask.room)
    try:
        return run(by).code in ("ok", "conflict", "not_found")
    except DoorwardError:
        return False


def _encode_request(ask: TerminalRequest) -> bytes:
    try:
        return msgspec.json.encode(ask)
    except UnicodeEncodeError as error:
        raise BadParams("The request contains bytes that are not UTF-8 text.") from error


def _no_answer_error(error: Exception) -> Unreachable:
    return Unreachable(
        f"The running server did not answer: {error}.", hint="To see whether it ran: doorward audit tail"
    )


def error_from_response(error: dict[str, Any]) -> DoorwardError:
    """Rebuild an error from the server's response."""
    kinds = {kind.code: kind for kind in concrete_errors()}
    return kinds.get(error["code"], Unreachable)(error["message"], hint=error.get("hint", ""))


async def _run_in_process(home: Home, ask: TerminalRequest, live: LiveView | None = None) -> Any:
    """Run in this process, with the home folder opened for this one command."""
    async with _open_home(home) as house:
        await house.services.upstreams.discover_for(ask.command)
        request = ask.to_gate_request(house.services.registry, house.services.rooms)
        if live is None:
            return msgspec.to_builtins(await _pass_gate(house, request))

        live.in_process = True

        async def stop() -> None:
            execution = house.services.executions.get(live.execution)
            if execution is not None:
                execution.cancel(execution.call.caller.on_behalf_of or execution.call.caller.id)

        async with handle_interrupts(live, stop):
            return msgspec.to_builtins(await _pass_gate(house, request, live.handle_notice))


async def _pass_gate(house: House, request: Request, watch: Watcher | None = None) -> Outcome:
    """Pass a request through the gate. Retries once when the call itself has just started an upstream server."""
    outcome = await house.gate.handle(request, watch)
    if outcome.code == Unreachable.code and outcome.retry_after == 0.0:
        outcome = await house.gate.handle(request, watch)
    return outcome


async def _explain_in_process(home: Home, ask: TerminalRequest) -> Any:
    async with _open_home(home) as house:
        await house.services.upstreams.discover_for(ask.command)
        request = ask.to_gate_request(house.services.registry, house.services.rooms)
        return {**await house.gate.explain(request), "room": request.room}


async def _find_room_in_process(home: Home, folder: str) -> Any:
    async with _open_home(home) as house:
        return {"room": house.services.rooms.find_by_folder(LOCAL, folder)}


@contextlib.asynccontextmanager
async def _open_home(home: Home) -> AsyncIterator[House]:
    from doorward.app import open_house  # noqa: PLC0415 - slow to import, and not needed with a running server

    async with open_house(home) as house:
        if house.setup_lines:
            report.print_note("Created the home folder:\n  " + "\n  ".join(house.setup_lines))
        for problem in house.services.recipes.problems.values():
            report.print_note(f"A recipe is not valid; its last valid version stays in force: {problem}")
        async with mcp_sidecar(home, house):
            yield house


ROOM_HELP = (
    "Act in this room, under its recipe; empty for none. By default, the room of this folder or, outside projects, "
    "none: you act with your own access."
)
F = TypeVar("F", bound=Callable[..., Any])


def run_as_owner(command: str, as_json: bool, **params: Any) -> None:
    """Run a command as yourself, outside rooms, and exit with its exit code."""
    given = {key: value for key, value in params.items() if value is not None}
    outcome = run(TerminalRequest(command=command, params=given))
    click.get_current_context().exit(report.show_outcome(outcome, as_json))


def reject_empty(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse an option that is given without a value, as from a variable that is not set: it would mean the default."""
    if not value and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
        raise click.BadParameter("It is empty. Give a value, or leave the option out.", ctx, param)
    return value


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (the default in a pipe).")(function)
