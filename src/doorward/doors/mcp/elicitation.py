"""Elicitation and sampling: takes questions of other MCP servers to the client that called, for its user or its model.

The rule for approvals applies: a person is asked only if the door holds that person's own credential, and the answer
goes to the gate with that credential. If nobody can be asked, the question waits for a person elsewhere.

In the session era the question is sent while the call waits. In the stateless era the request ends with the question,
and the call is held: it runs until its timeout, and the client's next request brings the answer and continues it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from doorward.commands.context import Services
from doorward.config.home import Home
from doorward.core.errors import NotFound, Overloaded
from doorward.core.ids import new_id
from doorward.core.model import Outcome, Request
from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import InputRequiredResult
from doorward.doors.mcp import encoding
from doorward.doors.mcp.approval_prompt import ApprovalPrompt
from doorward.doors.mcp.request import DOOR, McpRequest, RequestWithdrawn, StateSealer
from doorward.doors.mcp.versions import Era
from doorward.gate.executions.notices import Notice, QuestionNotice, Watcher
from doorward.gate.gate import Gate
from doorward.upstream.questions import Question

_KEY = "question"
_MAX_ATTEMPTS = 3
"""How often a client is asked the same question when its answer does not match the form."""
_MAX_HELD = 200
"""Most calls that are held between two requests of their clients. Questions of further calls wait elsewhere."""
_ANSWER_TIMEOUT = 86_400.0
"""Seconds for which an answer is accepted; the call itself ends sooner."""
_OUTCOME_RETENTION = 60.0
"""Seconds for which the outcome of a held call waits for its client."""
_HELD_PREFIX = "held "


class Elicitation:
    def __init__(self, gate: Gate, services: Services, approving: ApprovalPrompt) -> None:
        self._gate = gate
        self._clock = services.clock
        self._questions = services.questions
        self._prompt = approving
        self._states = StateSealer(Home(services.home).load_key(), services.clock)
        self._held: dict[str, _HeldCall] = {}

    @staticmethod
    def can_ask(ask: McpRequest) -> bool:
        """Whether this client can be asked anything."""
        can = ask.capabilities
        return "sampling" in can or (ask.peer.person is not None and "elicitation" in can)

    async def run(self, ask: McpRequest, request: Request, watch: Watcher | None) -> Outcome | bytes:
        """Run a call through the gate, and take its questions to the client."""
        if ask.era is Era.SESSIONS:
            return await self._run_in_session(ask, request, watch)
        held = _HeldCall(ask, self._accepts)
        held.start(self._gate, request, watch)
        return await self._wait_for_outcome(ask, request, held)

    def is_held(self, ask: McpRequest, request: Request) -> bool:
        """Whether the `requestState` of this request continues a held call."""
        return self._states.open(ask.request_state, ask.caller, _call_identity(request)).startswith(_HELD_PREFIX)

    async def resume(self, ask: McpRequest, request: Request, watch: Watcher | None) -> Outcome | bytes:
        """Continue a held call: pass it the client's answer, and wait for it again."""
        _, id, question = self._states.open(ask.request_state, ask.caller, _call_identity(request)).split(" ")
        held = self._held.get(id)
        if held is None or held.attached:
            raise WireError(
                INVALID_PARAMS,
                "The held call has ended, or another request already continues it. Send the request again without"
                " `requestState`.",
            )
        answer = ask.input_responses.get(_KEY)
        held.attach(ask, watch)
        if isinstance(answer, dict):
            try:
                why = await self._carried(ask, question, answer)
            except asyncio.CancelledError:
                await self._abandon(held)
                raise
            except BaseException:
                held.detach()  # the client may send the request again
                raise
            held.record_answer(question, why)
        return await self._wait_for_outcome(ask, request, held)

    async def _run_in_session(self, ask: McpRequest, request: Request, watch: Watcher | None) -> Outcome:
        asking: set[asyncio.Task[None]] = set()

        def put(notice: Notice) -> None:
            if type(notice) is QuestionNotice and self._accepts(ask, notice):
                asking.add(asyncio.create_task(self._ask_client(ask, notice.question)))
            elif watch is not None:
                watch(notice)

        try:
            outcome = await self._gate.handle(request, put)
            if asking:  # questions without an answer are withdrawn now
                await asyncio.wait(asking)
        finally:
            for task in asking:
                task.cancel()
        return outcome

    async def _ask_client(self, ask: McpRequest, id: str) -> None:
        """Ask the client, and pass its answer to the server."""
        why = ""
        try:
            question = self._questions.get(ask.caller.tenant, id)
            for _ in range(_MAX_ATTEMPTS):
                method, params = _build_request(question, why)
                answer = await ask.send_request(method, params, _ANSWER_TIMEOUT, self._questions.closed_future(id))
                why = await self._carried(ask, id, answer)
                if not why:
                    return
            await ask.send_log("warning", f"The question is not asked again: {why}", question.server)
        except (RequestWithdrawn, NotFound):
            return
        except (WireError, Overloaded, TimeoutError):
            self._questions.answer_sampling(ask.caller, id, None)

    async def _wait_for_outcome(self, ask: McpRequest, request: Request, held: _HeldCall) -> Outcome | bytes:
        """Wait for the outcome or for a question. A question ends this request, but not the call."""
        try:
            await held.wait_for_news()
        except asyncio.CancelledError:
            await self._abandon(held)
            raise
        question = None if held.is_done else self._next_question(ask, held)
        if question is None:
            self._held.pop(held.id, None)
            return held.outcome()
        if held.id not in self._held:
            self._held[held.id] = held
            held.call_after_end(lambda: self._held.pop(held.id, None))
        held.detach()
        until = self._clock.now() + _ANSWER_TIMEOUT
        method, params = _build_request(question, held.rejection)
        return encoding.encode_input_required(
            InputRequiredResult(
                input_requests={_KEY: {"method": method, "params": params}},
                request_state=self._states.seal(
                    f"{_HELD_PREFIX}{held.id} {question.id}", ask.caller, _call_identity(request), until
                ),
            )
        )

    async def _abandon(self, held: _HeldCall) -> None:
        """Stop a call whose client disconnected while it waited."""
        self._held.pop(held.id, None)
        await held.stop()

    def _next_question(self, ask: McpRequest, held: _HeldCall) -> Question | None:
        while held.waiting:
            try:
                return self._questions.get(ask.caller.tenant, held.waiting[0])
            except NotFound:
                held.waiting.pop(0)
        return None

    def _accepts(self, ask: McpRequest, asked: QuestionNotice) -> bool:
        """Whether this client gets the question. A sampling question is taken here, or not at all."""
        if ask.era is Era.SESSIONS and not ask.channel.open:
            return False
        if ask.era is Era.STATELESS and len(self._held) >= _MAX_HELD:
            return False
        if asked.kind != "sampling":
            return self._prompt.find_person(ask) is not None
        if "sampling" not in ask.capabilities:
            return False
        self._questions.take_for_model(asked.question)
        return True

    async def _carried(self, ask: McpRequest, id: str, answer: dict[str, Any]) -> str:
        """Pass an answer on; returns why it does not count, if asking again may help."""
        try:
            question = self._questions.get(ask.caller.tenant, id)
        except NotFound:
            return ""
        if question.kind == "sampling":
            self._questions.answer_sampling(ask.caller, id, answer)
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
        await ask.send_log("warning", said.message, question.server)
        return said.message if said.code == "bad_params" else ""


class _HeldCall:
    """A call that outlives its request while its client answers a question."""

    def __init__(self, ask: McpRequest, takes: Callable[[McpRequest, QuestionNotice], bool]) -> None:
        self.id = new_id()
        self.waiting: list[str] = []
        """The questions for its client, in order."""
        self.rejection = ""
        """Why the last answer was not accepted."""
        self.attached = True
        """Whether a request waits for it."""
        self._ask = ask
        self._accepts = takes
        self._watch: Watcher | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._changed = asyncio.Event()

    def start(self, gate: Gate, request: Request, watch: Watcher | None) -> None:
        self._watch = watch
        self._task = task = asyncio.create_task(gate.handle(request, self._handle_notice))
        task.add_done_callback(lambda _: self._changed.set())
        tasks = self._ask.peer.tasks  # closing the client cancels its held calls
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @property
    def task(self) -> asyncio.Task[Outcome]:
        if self._task is None:
            raise RuntimeError("begin the call before waiting for it")
        return self._task

    @property
    def is_done(self) -> bool:
        return self.task.done()

    def outcome(self) -> Outcome:
        return self.task.result()

    def attach(self, ask: McpRequest, watch: Watcher | None) -> None:
        """Continue the call with another request of the same client."""
        self.attached, self._ask, self._watch = True, ask, watch

    def detach(self) -> None:
        self.attached, self._watch = False, None

    def record_answer(self, question: str, why: str) -> None:
        self.rejection = why
        if not why and question in self.waiting:
            self.waiting.remove(question)

    async def wait_for_news(self) -> None:
        """Wait until the call ends or a question waits."""
        while not self.is_done and not self.waiting:
            self._changed.clear()
            await self._changed.wait()

    async def stop(self) -> None:
        """Cancel the call, and wait until its record is stored."""
        self.task.cancel()
        await asyncio.wait([self.task])

    def call_after_end(self, then: Callable[[], object]) -> None:
        """Call `then` some time after the end, so that the client can still fetch the outcome."""
        loop = asyncio.get_running_loop()
        self.task.add_done_callback(lambda _: loop.call_later(_OUTCOME_RETENTION, then))

    def _handle_notice(self, notice: Notice) -> None:
        if type(notice) is QuestionNotice and self._accepts(self._ask, notice):
            self.waiting.append(notice.question)
            self._changed.set()
        elif self._watch is not None:
            self._watch(notice)


def _build_request(question: Question, why: str) -> tuple[str, dict[str, Any]]:
    """The request for the client. A URL is shown as part of the text, and nothing opens it."""
    if question.kind == "sampling":
        return "sampling/createMessage", {key: one for key, one in question.request.items() if key != "_meta"}
    message = f"The MCP server {question.server!r} asks, to continue {question.command}:\n\n{question.message}"
    form = question.form or {"type": "object", "properties": {}}
    return "elicitation/create", {"message": f"{why}\n\n{message}" if why else message, "requestedSchema": form}


def _call_identity(request: Request) -> list[Any]:
    return [request.command, msgspec.to_builtins(request.params), request.room]
