"""Telling a call that an AI wants from one that it only repeats: of a person, of another AI, or of a file it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward import strictjson
from doorward.agents.calls.everywhere import everywhere
from doorward.agents.calls.wanted import Wanted
from doorward.errors import Refused
from doorward.names import folded
from doorward.registry import Registry

NOT_MADE = (
    "It was not made: the same call stands in what somebody else wrote or in what a command gave, so it was taken for "
    "a quotation. When you mean it yourself, call the tool instead of writing it down, or write it in other words, "
    "such as with one more parameter."
)
NOT_READ = (
    "It was not made: somebody wrote so much in this room that looks like calls that yours cannot be told from a "
    "quotation. Call the tool instead of writing it down."
)

_order = msgspec.json.Encoder(order="sorted").encode


class Quotations:
    """What others wrote, as far as it holds calls. Each text is read once in a turn."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, frozenset[bytes] | None] = {}

    def why_not(self, calls: Iterable[Wanted], texts: Iterable[str], others: Iterable[Wanted] = ()) -> list[str]:
        """For each call why it is not made, or nothing. `others` are calls that others made.

        Only calls in the text of an answer are asked about: what came over a provider's own wire cannot be a quotation.
        """
        theirs = {self._meaning(one) for one in others}
        unread = False
        for text in texts:
            held = self._held(text)
            unread = unread or held is None
            theirs |= held or frozenset()
        return [NOT_MADE if self._meaning(one) in theirs else NOT_READ if unread else "" for one in calls]

    def same(self, call: Wanted, others: Iterable[Wanted]) -> bool:
        """Whether a call is one of these, in whatever way it is written."""
        return self._meaning(call) in map(self._meaning, others)

    def _held(self, text: str) -> frozenset[bytes] | None:
        """The calls that stand in a text; None when it is made so that they cannot be found."""
        if text not in self._known:
            found = everywhere(text)
            self._known[text] = frozenset(map(self._meaning, found.calls)) if found.whole else None
        return self._known[text]

    def _meaning(self, wanted: Wanted) -> bytes:
        """What all ways of writing one call have in common: its command, and the values of its parameters."""
        try:
            name = self._registry.resolve(wanted.name, offered=()).name  # nobody needs the nearest of an unknown one
        except Refused:
            name = wanted.name
        given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
        return _order([folded(name), _value(dict(given))])


def _value(value: Any) -> Any:
    """A value as a text would give it: no number and no other blanks tell two calls apart."""
    if isinstance(value, Mapping):
        return {folded(str(key)).replace("_", ""): _value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if value.lstrip()[:1] in ("{", "["):
        try:
            return _value(strictjson.loads(value))
        except strictjson.NotJson:
            pass
    return " ".join(value.split())
