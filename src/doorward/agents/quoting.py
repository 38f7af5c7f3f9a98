"""Detect quotations: calls that an AI only repeats from a person, another AI, or a file are not run."""

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
    "It was not made: the same call appears in a message of somebody else or in the output of a command, so it counts "
    "as a quotation. If you mean it, call the tool instead of writing the call as text, or write it differently, for "
    "example with one more parameter."
)
NOT_READ = (
    "It was not made: this room contains so much text that looks like calls that yours cannot be told from a "
    "quotation. Call the tool instead of writing the call as text."
)

_order = msgspec.json.Encoder(order="sorted").encode


class Quotations:
    """The calls found in texts of others. Each text is read once per turn."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, frozenset[bytes] | None] = {}

    def why_not(self, calls: Iterable[Wanted], texts: Iterable[str], others: Iterable[Wanted] = ()) -> list[str]:
        """Return for each call the reason not to run it, or an empty text. `others` are calls that others made.

        Pass only calls written in the text of an answer. Native tool calls cannot be quotations.
        """
        theirs = {self._meaning(one) for one in others}
        unread = False
        for text in texts:
            held = self._held(text)
            unread = unread or held is None
            theirs |= held or frozenset()
        return [NOT_MADE if self._meaning(one) in theirs else NOT_READ if unread else "" for one in calls]

    def same(self, call: Wanted, others: Iterable[Wanted]) -> bool:
        """Whether a call equals one of these, however it is written."""
        return self._meaning(call) in map(self._meaning, others)

    def _held(self, text: str) -> frozenset[bytes] | None:
        """Return the calls in a text; None if the text is too costly to search."""
        if text not in self._known:
            found = everywhere(text)
            self._known[text] = frozenset(map(self._meaning, found.calls)) if found.whole else None
        return self._known[text]

    def _meaning(self, wanted: Wanted) -> bytes:
        """Return a key that is the same for every spelling of one call: its command and parameter values."""
        try:
            name = self._registry.resolve(wanted.name, offered=()).name  # no suggestions needed for unknown names
        except Refused:
            name = wanted.name
        given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
        return _order([folded(name), _value(dict(given))])


def _value(value: Any) -> Any:
    """Normalise a value: numbers become text, and white space is collapsed."""
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
