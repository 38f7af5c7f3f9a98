"""The machine and the session: time, host name, memory, disk, who and where the asker is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import describe_result, name, quote
from doorward.agents.house.topics.vocabulary import Program, vocabulary
from doorward.agents.house.topics.wording import Wording

_MAX_LINE = 80
_WHO = (
    "^ who am i|who i am|^ what user am i|^ which user am i|^ whoami|account am i|name am i|my username"
    "|^ what is my user|my account|my login|my identity|sign in as|log in as"
)


def read(context: RequestContext) -> Iterable[Reading]:
    wording = Wording(context)
    if wording.take(_WHO):
        wording.take("user|username|account|log in as|log in|sign in|login|here|use|using|under|identity")
        yield wording.reading("who am i", lambda: _who(context), "who you are", 1.05)
    for program in vocabulary().programs:
        wording = Wording(context)
        if wording.take(program.needs):
            wording.take(program.may)
            yield wording.reading("machine", partial(_run, context, program), program.head.lower())


def _run(context: RequestContext, program: Program) -> Steps:
    command = context.offered(*program.commands)
    if not command:
        raise NotOffered(next(iter(program.commands)))
    (result,) = yield [Step(command, dict(program.commands[command]))]
    if command == "shell/context" and isinstance(result.value, dict):
        return f"{program.head}: {name(str(result.value.get('folder') or '.'))}"
    return describe_program(result, program.head)


def describe_program(result: ToolResult, head: str = "") -> str:
    """Describe the output of a program, quoted."""
    one = result.value if isinstance(result.value, dict) else {}
    if result.value is not None and "exitCode" not in one:
        return describe_result(result)
    out, errors = str(one.get("stdout", result.text) or "").strip(), str(one.get("stderr") or "").strip()
    parts = []
    if head and out and "\n" not in out and len(out) <= _MAX_LINE:
        parts.append(f"{head}: {name(out)}")
    elif out:
        parts.append(f"{head or 'It gave'}:\n{quote(out)}")
    elif not errors:
        parts.append("It ran and gave no output.")
    if one.get("exitCode"):
        parts.append(f"It ended with exit code {one['exitCode']}.")
    if errors:
        parts.append(f"It reported:\n{quote(errors)}")
    return "\n".join(parts)


def _who(context: RequestContext) -> Steps:
    speaker = context.conversation.speaker
    if context.offered("shell/context"):
        (result,) = yield [Step("shell/context")]
        caller = result.value.get("caller") if isinstance(result.value, dict) else ""
        speaker = speaker or str(caller or "")
    if not speaker:
        raise NotOffered("shell/context")
    return f"You are {name(speaker)}."
