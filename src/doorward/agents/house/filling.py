"""The parameters of a call, filled from a request.

In a template a text that begins with `@` is a slot: `@path` must be there, `@path?` is left out where it is not, and
`@limit|20` says what holds instead.
"""

from __future__ import annotations

from typing import Any

from doorward.agents.house.slots import Slots


class Missing(Exception):
    """A slot that must be filled is empty; the message is its name."""


_LEFT_OUT = object()


def filled(template: dict[str, Any], slots: Slots) -> dict[str, Any]:
    """The parameters; `Missing` when one that is needed is not there."""
    made = {key: _filled(value, slots) for key, value in template.items()}
    return {key: value for key, value in made.items() if value is not _LEFT_OUT}


def _filled(value: Any, slots: Slots) -> Any:
    if isinstance(value, str) and value.startswith("@"):
        return _slot(value[1:], slots)
    if isinstance(value, dict):
        inner = {key: _filled(one, slots) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one is not _LEFT_OUT}
    if isinstance(value, list):
        return [one for one in (_part(each, slots) for each in value) if one is not _LEFT_OUT]
    return value


def _part(value: Any, slots: Slots) -> Any:
    """A part of a list, which is left out where the request says nothing about it."""
    if isinstance(value, str) and value.startswith("@"):
        found = slots.get(value[1:].rstrip("?"))
        return _LEFT_OUT if found is None else found
    return _filled(value, slots)


def _slot(name: str, slots: Slots) -> Any:
    name, bar, instead = name.partition("|")
    found = slots.get(name.rstrip("?"))
    if found is not None:
        return found
    if bar:
        return int(instead) if instead.isdigit() else instead
    if name.endswith("?"):
        return _LEFT_OUT
    raise Missing(name)
