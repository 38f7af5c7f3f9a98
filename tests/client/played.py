"""An operation of the client, played out without a server: what it asks for is answered from a list."""

from __future__ import annotations

import json
import math
from collections.abc import Generator
from typing import Any, NamedTuple

from doorward.client import Client, Outcome
from doorward.client.effects import Emit, EventChannel, NextEvent, NoResponse, Pause, Reply, Send, WithLock
from doorward.core.errors import DoorwardError
from doorward.core.wire.sse import SseEvent

DONE = {"status": "done", "code": "ok", "call": "1m7gxw9dfxgnxm42", "command": "shell/ls", "result": {"a": 1}}
REFUSED = NoResponse("Connection refused", sent=False)
DROPPED = NoResponse("Server disconnected", sent=True)
SLOW = NoResponse("it took too long", sent=True, slow=True)


def reply(status: int, body: Any, **headers: str) -> Reply:
    kind = "application/problem+json" if status >= 400 else "application/json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"content-type": kind, **named}, json.dumps(body).encode())


def problem(status: int, code: str, **more: Any) -> Reply:
    after = {"retry_after": str(math.ceil(more["retryAfter"]))} if "retryAfter" in more else {}
    body = {"title": "t", "status": status, "detail": f"It is {code}.", "code": code, "outcome": "refused", **more}
    return reply(status, body, **after)


class Clock:
    """A steady clock that moves when something waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Later(NamedTuple):
    """An answer that comes only after so many seconds."""

    seconds: float
    answer: Reply | NoResponse | EventChannel | SseEvent | None


Answer = Reply | NoResponse | EventChannel | SseEvent | Later | None


class Played:
    """An operation played out against prepared answers: what was sent, how long was waited, and how it ended."""

    def __init__(self, flow: Generator[Any, Any, Any], *answers: Answer, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self.sent: list[Send] = []
        self.waited: list[float] = []
        self.emitted: list[Any] = []
        self._answers = list(answers)
        self.result: Any = None
        self.error: DoorwardError | None = None
        try:
            self.result = self._play(flow)
        except DoorwardError as error:
            self.error = error
        assert not self._answers, "not everything was asked for"

    def _play(self, flow: Generator[Any, Any, Any]) -> Any:
        value: Any = None
        while True:
            try:
                effect = flow.throw(value) if isinstance(value, NoResponse) else flow.send(value)
            except StopIteration as end:
                return end.value
            value = None
            if isinstance(effect, Pause):
                self.waited.append(effect.seconds)
                self._clock.now += effect.seconds
            elif isinstance(effect, WithLock):
                value = self._play(effect.flow)
            elif isinstance(effect, Emit):
                self.emitted.append(effect.value)
            elif isinstance(effect, NextEvent):
                value = self._answer()
            elif isinstance(effect, Send):
                self.sent.append(effect)
                value = self._answer()

    def _answer(self) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Later):
            self._clock.now += answer.seconds
            return answer.answer
        return answer

    @property
    def paths(self) -> list[str]:
        return [send.path for send in self.sent]

    @property
    def keys(self) -> list[str]:
        return [send.headers["Idempotency-Key"] for send in self.sent]


def run(client: Client, **options: Any) -> Generator[Any, Any, Outcome]:
    return Client.run.flow(client, "shell/ls", **options)
