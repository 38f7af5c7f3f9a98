"""Reaching the house: through the running server when there is one, else by opening the home folder oneself."""

from __future__ import annotations

import asyncio
import http.client
import socket
import time
from typing import Any

import msgspec

from doorward.cli import report
from doorward.doors.local import Ask
from doorward.errors import BadParams, DoorwardError, Unreachable, leaves
from doorward.home import Home, Lock, short_path
from doorward.model import Outcome
from doorward.settings import home_folder

_PATIENCE = 10.0
"""Seconds to wait for another `doorward` command to be done with the home folder."""


def run(ask: Ask) -> Outcome:
    """Ask for one command, and give back how it ended."""
    return msgspec.convert(_ask("run", ask), Outcome)


def explain(ask: Ask) -> dict[str, Any]:
    return dict(_ask("explain", ask))


def _ask(what: str, ask: Ask) -> Any:
    home = Home(home_folder())
    home.make()
    with Lock(home) as lock:
        deadline = time.monotonic() + _PATIENCE
        while True:
            connection = _connect(home)
            if connection is not None:
                return _over(connection, what, ask)
            if lock.take():
                return asyncio.run(_directly(home, what, ask))
            if time.monotonic() > deadline:
                raise lock.busy()
            time.sleep(0.02)


def _connect(home: Home) -> http.client.HTTPConnection | None:
    """A connection to the running server, or None when none answers."""
    if not home.socket.exists():
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(home.socket) as address:
            sock.connect(address)
    except OSError:
        sock.close()
        return None
    connection = http.client.HTTPConnection("doorward")
    connection.sock = sock
    return connection


def _over(connection: http.client.HTTPConnection, what: str, ask: Ask) -> Any:
    try:
        body = msgspec.json.encode(ask)
    except UnicodeEncodeError as error:
        raise BadParams("The request holds bytes that are not UTF-8 text.") from error
    try:
        connection.request("POST", f"/api/{what}", body, {"Content-Type": "application/json"})
        answer = msgspec.json.decode(connection.getresponse().read())
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
        raise Unreachable(
            f"The running server did not answer: {error}.", hint="Whether it ran is in: doorward audit tail"
        ) from error
    finally:
        connection.close()
    if "error" in answer:
        raise _told(answer["error"])
    return answer


def _told(error: dict[str, Any]) -> DoorwardError:
    """An error as the server told it."""
    kinds = {kind.code: kind for kind in leaves()}
    return kinds.get(error["code"], Unreachable)(error["message"], hint=error.get("hint", ""))


async def _directly(home: Home, what: str, ask: Ask) -> Any:
    from doorward.app import open_house  # noqa: PLC0415 - a terminal with a server behind it never needs the house

    async with open_house(home) as house:
        if house.made:
            report.note("Made a new home for Doorward:\n  " + "\n  ".join(house.made))
        for problem in house.services.recipes.problems.values():
            report.note(f"A recipe is not valid, its last good version is in force: {problem}")
        request = ask.request(house.services.registry)
        if what == "explain":
            return await house.gate.explain(request)
        return msgspec.to_builtins(await house.gate.handle(request))
