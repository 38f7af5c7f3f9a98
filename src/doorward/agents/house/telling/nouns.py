"""What the things are called that are told of, and under which conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import number

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "data": "record"}


def nouns(asked: Asked, got: Got) -> tuple[str, str]:
    """One and many: as the person said it, or by the collection that was asked."""
    if asked.noun[0] and asked.noun[1]:
        return asked.noun
    named = got.params.get("collection") or asked.thing
    if isinstance(named, str) and named and got.command.startswith("data/"):
        many = named.rpartition(".")[2].replace("_", " ")
        return singular(many), many if many != singular(many) else f"records of {many}"
    return "record", "records"


def singular(many: str) -> str:
    if many in _IRREGULAR:
        return _IRREGULAR[many]
    if many.endswith("ies") and len(many) > 4:
        return f"{many[:-3]}y"
    if many.endswith(("sses", "xes", "ches", "shes")):
        return many[:-2]
    return many[:-1] if many.endswith("s") and not many.endswith(("ss", "us", "is")) else many


def when_and_how(asked: Asked) -> str:
    """The conditions and the period, to be said back behind a noun."""
    parts = [asked.condition_says, asked.span_says]
    return "".join(f" {one}" for one in parts if one)


def there_are(asked: Asked, got: Got, count: int) -> str:
    """How many there are, as a sentence without its end."""
    one, many = nouns(asked, got)
    how = f" {asked.condition_says}" if asked.condition_says else ""
    if asked.about and asked.span_says:
        verb = "was created" if asked.about == "created" else "changed"
        verbs = "were created" if asked.about == "created" else "changed"
        if not count:
            return f"No {many}{how} {verbs} {asked.span_says}"
        return f"{number(count)} {one if count == 1 else many}{how} {verb if count == 1 else verbs} {asked.span_says}"
    if not count:
        return f"There are no {many}{when_and_how(asked)}"
    return f"There {'is' if count == 1 else 'are'} {number(count)} {one if count == 1 else many}{when_and_how(asked)}"


def items_of(value: Any) -> list[Any] | None:
    """The things in a result, if it is a list of them."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        found: list[Any] = value["items"]
        return found
    return None


def goes_on(value: Any) -> bool:
    """Whether the result says that there is more than it shows."""
    if not isinstance(value, dict):
        return False
    return bool(value.get("cursor") or value.get("more") or value.get("cut") or value.get("next"))


def in_all(value: Any, items: Sequence[Any]) -> int | None:
    """How many there are in all, where the result lets one know it."""
    if isinstance(value, dict):
        for key in ("found", "matched", "total"):
            count = value.get(key)
            if isinstance(count, int) and not isinstance(count, bool) and count >= len(items):
                return count
    return None if goes_on(value) else len(items)
