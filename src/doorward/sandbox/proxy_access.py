"""The access of one program to the proxy of its room: its credentials, and the hosts about which a person is asked."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import secrets
from typing import Protocol

from doorward.core.errors import Overloaded
from doorward.sandbox.program import AskToConnect

_MOST_HOSTS = 40
"""How many hosts and ports one program may ask about."""
_MOST_WAITING = 8
"""How many of these questions may wait for an answer at the same time."""


class RunningProgram(Protocol):
    """A program whose time stops while a person is asked, and whose output hides its credentials."""

    def hide(self, *secrets: str) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class ProxyAccess:
    def __init__(self, ask: AskToConnect, program: RunningProgram) -> None:
        self.user = secrets.token_hex(4)
        self._password = secrets.token_urlsafe(24)
        self._ask = ask
        self._program = program
        self._questions: dict[tuple[str, int], asyncio.Task[None]] = {}
        """What was asked. The answer holds until the program ends."""
        program.hide(self._password, base64.b64encode(self.userinfo.encode()).decode())

    @property
    def userinfo(self) -> str:
        """Its credentials as a proxy's URL has them."""
        return f"{self.user}:{self._password}"

    def accepts(self, password: str) -> bool:
        return hmac.compare_digest(password.encode(), self._password.encode())

    async def ask(self, host: str, port: int) -> None:
        """Return when the program may connect to this host and port. Raises DoorwardError with the reason if not."""
        question = self._questions.get((host, port))
        if question is None:
            if len(self._questions) >= _MOST_HOSTS:
                raise Overloaded(f"This program asked about {_MOST_HOSTS} hosts already, which is the limit.")
            if sum(not one.done() for one in self._questions.values()) >= _MOST_WAITING:
                raise Overloaded(f"{_MOST_WAITING} questions of this program wait for an answer, which is the limit.")
            question = self._questions[host, port] = asyncio.create_task(self._wait_for_answer(host, port))
        await asyncio.shield(question)

    async def close(self) -> None:
        """End its questions: the program has ended."""
        for question in self._questions.values():
            question.cancel()
        await asyncio.gather(*self._questions.values(), return_exceptions=True)

    async def _wait_for_answer(self, host: str, port: int) -> None:
        self._program.pause()
        try:
            await self._ask(host, port)
        finally:
            self._program.resume()


def parse_credentials(field: str) -> tuple[str, str] | None:
    """The user and the password of a Proxy-Authorization field; None if it has none."""
    scheme, _, encoded = field.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode("latin-1").partition(":")
    except binascii.Error:
        return None
    return (user, password) if colon else None
