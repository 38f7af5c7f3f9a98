"""Orders to run a program."""

from __future__ import annotations

import re
import shlex

from doorward.agents.house.mood import strip_back
from doorward.agents.house.orders.calls import make_call
from doorward.agents.house.orders.phrases import END, PATH, QUOTED, OrderText, is_path, is_quoted, place, unquote
from doorward.agents.house.plan import Reading, Step
from doorward.agents.house.request_context import RequestContext

_RUN = r"(?:run|execute|launch)"
_SHELL_SIGNS = re.compile(r"[;&|<>$`\\\n*?(){}\[\]~#!]")
_NO_LINE = re.compile(
    r"(?:that|this|which|what|you|i|we|he|she|they|it|again|in|from|of|for|to|with|at|on|below|above|now|and|or|but|as"
    r"|is|was|a|an|the|all|every|any|some|my|our)\b",
    re.IGNORECASE,
)
_FULL_STOP = re.compile(r"(?<=[\w'\")])[.!]+\s*$")


def read_line(context: RequestContext, text: OrderText) -> Reading | None:
    """Read an order to run a line for the shell: everything after `run the command` belongs to it."""
    found = text.match_to_end(
        rf"{_RUN}\s+(?:the\s+|this\s+)?(?:following\s+)?(?:(?:bash|shell)\s+)?(?:command|line)[: ]\s*(?P<line>\S.*)$"
    )
    if found is None or _NO_LINE.match(found["line"]):
        return None
    line = strip_back(found["line"]) if is_quoted(strip_back(found["line"])) else found["line"]
    return _reading(context, _step(context, _FULL_STOP.sub("", unquote(line))))


def read(context: RequestContext, text: OrderText) -> Reading | None:
    on = text.match(
        rf"{_RUN}\s+(?:the\s+)?(?:(?:program|command|tool)\s+)?(?P<program>[a-z][\w.+-]*)\s+(?:on|over|against)\s+"
        rf"(?:the\s+)?(?:(?:file|folder)\s+)?{PATH}{END}"
    )
    if on is not None and is_path(on["path"], context):
        tool = context.tools.get(f"shell/{on['program'].lower()}")
        if tool is not None and tool.reads_only:
            return None
        return _reading(context, Step(f"shell/{on['program'].lower()}", {"arguments": [place(on["path"], context)]}))
    named = text.match(rf"{_RUN}\s+(?:the\s+command\s+)?(?P<name>[a-z][\w-]*(?:/[\w-]+)+){END}")
    if named is not None and named["name"] in context.tools and not context.tools[named["name"]].schema.get("required"):
        return _reading(context, Step(named["name"]))
    quoted = text.match(rf"{_RUN}:?\s+(?P<line>{QUOTED}){END}")
    if quoted is not None:
        return _reading(context, _step(context, unquote(quoted["line"])))
    bare = text.match(rf"{_RUN}:?\s+(?:the\s+)?(?P<line>[a-z][\w.+-]*(?:\s+[^\s\"'“”]+)*)$")
    if bare is None or _NO_LINE.match(bare["line"]):
        return None
    step = _step(context, _FULL_STOP.sub("", bare["line"]))
    return _reading(context, step) if step.command != "bash" else None


def _step(context: RequestContext, line: str) -> Step:
    """Return a line as a call: of the program itself if no shell is needed to read it."""
    try:
        words = [] if _SHELL_SIGNS.search(line) else shlex.split(line)
    except ValueError:
        words = []
    if words:
        first, rest = words[0], words[1:]
        if first == "git" and rest and f"shell/git_{rest[0].replace('-', '_')}" in context.tools:
            first, rest = f"git_{rest[0].replace('-', '_')}", rest[1:]
        if f"shell/{first}" in context.tools:
            return Step(f"shell/{first}", {"arguments": rest} if rest else {})
    return Step("bash", {"command": line})


def _reading(context: RequestContext, step: Step) -> Reading:
    says = f"run {step.command}"
    return make_call(context, "run a program", says, {step.command: step.params}, "It ran and wrote nothing.")
