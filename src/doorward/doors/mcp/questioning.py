"""Questions of other servers, taken to the client that called: to the person who sits there, or to its model.

Who is asked goes by the rule for approvals: a person only where the door holds that person's own credential, and what
they say goes to the gate as theirs. Where nobody can be asked, the question waits for a person elsewhere.

With sessions the question goes out beside the call, which waits. Without them the request ends with the question, while
the call is held: it runs on until its time is over, and the client's next request, with the answer, goes on with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from doorward.backends.context import Services
from doorward.doors.mcp import answers
from doorward.doors.mcp.approving import Approving
from doorward.doors.mcp.ask import DOOR, Ask, Overtaken
from doorward.doors.mcp.state import States
from doorward.doors.mcp.versions import Era
from doorward.errors import NotFound, Overloaded
from doorward.executions.notices import Asked, Notice, Watch
from doorward.gate.gate import Gate
from doorward.home import Home
from doorward.ids import new_id
from doorward.model import Outcome, Request
from doorward.upstream.questions import Question
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError
from doorward.wire.shapes import InputRequired

_KEY = "question"
_TRIES = 3
"""How often a client is asked the same when what comes back does not fit the form."""
_MOST_HELD = 200
"""How many calls are held between two requests of their clients; the questions of one more wait elsewhere."""
_LONGEST = 86_400.0
"""Seconds for which an answer can be brought; the call itself ends sooner."""
_KEPT = 60.0
"""Seconds for which the outcome of a held call waits for its client."""
_MARK = "held "


class Questioning:
    def __init__(self, gate: Gate, services: Services, approving: Approving) -> None:
        self._gate = gate
        self._clock = services.clock
        self._questions = services.questions
        self._approving = approving
        self._states = States(Home(services.home).key(), services.clock)
        self._held: dict[str, _Held] = {}

    @staticmethod
    def may(ask: Ask) -> bool:
        """Whether this client could be asked anything at all."""
        can = ask.capabilities
        return "sampling" in can or (ask.peer.person is not None and "elicitation" in can)

    async def run(self, ask: Ask, request: Request, watch: Watch | None) -> Outcome | bytes:
        """A call through the gate, taking to the client what is asked meanwhile."""
        if ask.era is Era.SESSIONS:
            return await self._beside(ask, request, watch)
        held = _Held(ask, self._takes)
        held.begin(self._gate, request, watch)
        return await self._round(ask, request, held)

    def is_held(self, ask: Ask, request: Request) -> bool:
        """Whether a request goes on with a call that is held, by the state that its client shows."""
        return self._states.open(ask.state, ask.caller, _what(request)).startswith(_MARK)

    async def resumed(self, ask: Ask, request: Request, watch: Watch | None) -> Outcome | bytes:
        """Go on with a call that is held: bring it what the client found out, and wait with it again."""
        _, id, question = self._states.open(ask.state, ask.caller, _what(request)).split(" ")
        held = self._held.get(id)
        if held is None or held.attended:
            raise WireError(
                INVALID_PARAMS,
                "What this request would go on with has ended, or another request goes on with it. Send the request"
                " again without `requestState`.",
            )
        answer = ask.responses.get(_KEY)
        held.attend(ask, watch)
        if isinstance(answer, dict):
            try:
                why = await self._carried(ask, question, answer)
            except asyncio.CancelledError:
                await self._given_up(held)
                raise
            except BaseException:
                held.leave()  # the client may come again
                raise
            held.answered(question, why)
        return await self._round(ask, request, held)

    async def _beside(self, ask: Ask, request: Request, watch: Watch | None) -> Outcome:
        asking: set[asyncio.Task[None]] = set()

        def put(notice: Notice) -> None:
            if type(notice) is Asked and self._takes(ask, notice):
                asking.add(asyncio.create_task(self._asked(ask, notice.question)))
            elif watch is not None:
                watch(notice)

        try:
            outcome = await self._gate.handle(request, put)
            if asking:  # what is not answered by now is taken back
                await asyncio.wait(asking)
        finally:
            for task in asking:
                task.cancel()
        return outcome

    async def _asked(self, ask: Ask, id: str) -> None:
        """Ask the client, and bring its answer to the server that wants it."""
        why = ""
        try:
            question = self._questions.get(ask.caller.tenant, id)
            for _ in range(_TRIES):
                method, params = _request(question, why)
                answer = await ask.request(method, params, _LONGEST, self._questions.over(id))
                why = await self._carried(ask, id, answer)
                if not why:
                    return
            await ask.log("warning", f"Nobody is asked again here: {why}", question.server)
        except (Overtaken, NotFound):
            return
        except (WireError, Overloaded, TimeoutError):
            self._questions.sampled(ask.caller, id, None)

    async def _round(self, ask: Ask, request: Request, held: _Held) -> Outcome | bytes:
        """Wait for the outcome, or for a question, with which this request ends and the call does not."""
        try:
            await held.news()
        except asyncio.CancelledError:
            await self._given_up(held)
            raise
        question = None if held.over else self._next(ask, held)
        if question is None:
            self._held.pop(held.id, None)
            return held.outcome()
        if held.id not in self._held:
            self._held[held.id] = held
            held.when_over(lambda: self._held.pop(held.id, None))
        held.leave()
        until = self._clock.now() + _LONGEST
        method, params = _request(question, held.why)
        return answers.input_required(
            InputRequired(
                input_requests={_KEY: {"method": method, "params": params}},
                request_state=self._states.seal(f"{_MARK}{held.id} {question.id}", ask.caller, _what(request), until),
            )
        )

    async def _given_up(self, held: _Held) -> None:
        """Its client hung up while it waited with a call, which ends the call."""
        self._held.pop(held.id, None)
        await held.stop()

    def _next(self, ask: Ask, held: _Held) -> Question | None:
        while held.waiting:
            try:
                return self._questions.get(ask.caller.tenant, held.waiting[0])
            except NotFound:
                held.waiting.pop(0)
        return None

    def _takes(self, ask: Ask, asked: Asked) -> bool:
        """Whether this client is asked that; what goes to its model is taken now or never."""
        if ask.era is Era.SESSIONS and not ask.channel.open:
            return False
        if ask.era is Era.STATELESS and len(self._held) >= _MOST_HELD:
            return False
        if asked.kind != "sampling":
            return self._approving.person(ask) is not None
        if "sampling" not in ask.capabilities:
            return False
        self._questions.take(asked.question)
        return True

    async def _carried(self, ask: Ask, id: str, answer: dict[str, Any]) -> str:
        """Bring an answer; gives why it does not count, where asking again may help."""
        try:
            question = self._questions.get(ask.caller.tenant, id)
        except NotFound:
            return ""
        if question.kind == "sampling":
            self._questions.sampled(ask.caller, id, answer)
            return ""
        if ask.peer.person is None:
            return ""
        action, content = answer.get("action"), answer.get("content")
        params: dict[str, Any] = {"question": id, "action": action if action in ("accept", "decline") else "cancel"}
        if action == "accept" and isinstance(content, dict) and content:
            params["content"] = content
        said = await self._gate.handle(
            Request(command="mcp/answer", credential=ask.peer.person, door=DOOR, params=params)
        )
        if said.status == "done":
            return ""
        await ask.log("warning", said.message, question.server)
        return said.message if said.code == "bad_params" else ""


class _Held:
    """A call that outlives the request it came with, for as long as its client has yet to answer a question."""

    def __init__(self, ask: Ask, takes: Callable[[Ask, Asked], bool]) -> None:
        self.id = new_id()
        self.waiting: list[str] = []
        """The questions that its client is to be asked, in their order."""
        self.why = ""
        """Why the last answer did not fit."""
        self.attended = True
        """Whether a request waits with it."""
        self._ask = ask
        self._takes = takes
        self._watch: Watch | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._changed = asyncio.Event()

    def begin(self, gate: Gate, request: Request, watch: Watch | None) -> None:
        self._watch = watch
        self._task = task = asyncio.create_task(gate.handle(request, self._put))
        task.add_done_callback(lambda _: self._changed.set())
        tasks = self._ask.peer.tasks  # a client that is gone for good takes its calls along
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @property
    def task(self) -> asyncio.Task[Outcome]:
        if self._task is None:
            raise RuntimeError("a call is begun before anybody waits for it")
        return self._task

    @property
    def over(self) -> bool:
        return self.task.done()

    def outcome(self) -> Outcome:
        return self.task.result()

    def attend(self, ask: Ask, watch: Watch | None) -> None:
        """Another request of the same client goes on with it."""
        self.attended, self._ask, self._watch = True, ask, watch

    def leave(self) -> None:
        self.attended, self._watch = False, None

    def answered(self, question: str, why: str) -> None:
        self.why = why
        if not why and question in self.waiting:
            self.waiting.remove(question)

    async def news(self) -> None:
        """Wait until it is over, or a question waits."""
        while not self.over and not self.waiting:
            self._changed.clear()
            await self._changed.wait()

    async def stop(self) -> None:
        """Its client gave it up: cancel it, and wait until its record is stored."""
        self.task.cancel()
        await asyncio.wait([self.task])

    def when_over(self, then: Callable[[], object]) -> None:
        """Call this a while after the end, so that the client can still come for the outcome."""
        loop = asyncio.get_running_loop()
        self.task.add_done_callback(lambda _: loop.call_later(_KEPT, then))

    def _put(self, notice: Notice) -> None:
        if type(notice) is Asked and self._takes(self._ask, notice):
            self.waiting.append(notice.question)
            self._changed.set()
        elif self._watch is not None:
            self._watch(notice)


def _request(question: Question, why: str) -> tuple[str, dict[str, Any]]:
    """What a client is asked. An address is shown as part of the text: nothing opens it by itself."""
    if question.kind == "sampling":
        return "sampling/createMessage", {key: one for key, one in question.request.items() if key != "_meta"}
    message = f"The MCP server {question.server!r} asks, to go on with {question.command}:\n\n{question.message}"
    form = question.form or {"type": "object", "properties": {}}
    return "elicitation/create", {"message": f"{why}\n\n{message}" if why else message, "requestedSchema": form}


def _what(request: Request) -> list[Any]:
    return [request.command, msgspec.to_builtins(request.params), request.room]
