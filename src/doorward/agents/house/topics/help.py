"""Help about commands: which one does something, and what one does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown, answer_with
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, in_a_row, name, number, one_line
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording

_LEAST = 0.4
"""The score of a search result below which it does not fit."""
_MOST = 5
_DESCRIPTION = re.compile(r'"description": ?"((?:[^"\\]|\\.)*)"')
"""The description in a result that was too long to be shown as a whole."""


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("help")
    wording = Wording(context)
    if wording.take(words["describe"]):
        command = wording.command(any_area=wording.has("command"))
        if command:
            wording.take(words["may"])
            yield wording.reading("describe a command", lambda: _describe(context, command), f"what {command} does")
    wording = Wording(context)
    if wording.take(words["offered"]):
        wording.count()
        wording.take(words["may"])
        areas = in_a_row(sorted({one.partition("/")[0] for one in context.tools}))
        text = f"{number(len(context.tools))} commands are offered to me here, in the areas {areas}."
        yield wording.reading("offered commands", answer_with(text), "the commands that are offered here", 0.9)
    wording = Wording(context)
    behind = wording.behind(words["search"])
    if behind and not context.spans and not wording.has("fail|refuse|deny|reject|not"):
        query = context.request.between(min(wording.find(words["search"])), len(context.request)).strip(" ?.!")
        sought = " ".join(one.text for one in behind)
        wording.used |= set(range(len(context.request)))
        yield wording.reading("search commands", lambda: _search(context, sought), f"a command for “{query}”", 0.6)


def _describe(context: RequestContext, command: str) -> Steps:
    if context.offered("help/describe"):
        (result,) = yield [Step("help/describe", {"command": command})]
        one = result.value if isinstance(result.value, dict) else {}
        cut = _DESCRIPTION.search(result.text)
        text = str(one.get("description") or one.get("summary") or (cut[1] if cut else ""))
        usage = f"\nUsage: {one_line(str(one['usage']), 300)}" if one.get("usage") else ""
        return f"{name(command)}: “{one_line(text, 600)}”{usage}"
    if command not in context.tools:
        raise NotOffered("help/describe")
    return f"{name(command)}: “{one_line(context.tools[command].description, 600)}”"


def _search(context: RequestContext, query: str) -> Steps:
    if not context.offered("help/search"):
        raise NotOffered("help/search")
    (result,) = yield [Step("help/search", {"query": query})]
    items = [one for one in result.items if isinstance(one, dict) and (one.get("score") or 0) >= _LEAST][:_MOST]
    if not items:
        raise Unknown(f"I do not know a command for “{one_line(query, 80)}”.")
    lines = [f"{name(str(one.get('command')))}: “{one_line(str(one.get('summary') or ''), 160)}”" for one in items]
    return f"{'This command fits' if len(lines) == 1 else 'These commands fit'}:\n{bullets(lines)}"
