"""The rules of one recipe."""

from __future__ import annotations

from doorward.agents.house.plan import NotOffered, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, field_words, name, one_line, value


def show_recipe(context: RequestContext, id: str) -> Steps:
    if not context.offered("recipe/show"):
        raise NotOffered("recipe/show")
    (result,) = yield [Step("recipe/show", {"id": id})]
    body = result.value.get("recipe") if isinstance(result.value, dict) else None
    if not isinstance(body, dict):
        raise Unknown(f"I do not know how to show the recipe {name(id)}.")
    strategy = body.get("strategy")
    rules = strategy.get("aiCommands") if isinstance(strategy, dict) else None
    lines = [f"{field_words(key)}: {value(key, one)}" for key, one in rules.items()] if isinstance(rules, dict) else []
    called, description = str(body.get("displayName") or id), one_line(str(body.get("description") or ""))
    head = f"The recipe {name(id)} is called {name(called)}: “{description}”"
    return f"{head}\nIts rules for commands of AIs:\n{bullets(lines)}" if lines else head
