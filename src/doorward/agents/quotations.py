"""Detect quotations: calls that an AI only repeats from a person, another AI, or a file are not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward.agents.calls.call_finder import find_calls
from doorward.agents.calls.parsed import ParsedCall
from doorward.core import strictjson
from doorward.core.errors import Refused
from doorward.core.names import normalise
from doorward.core.registry import Registry

QUOTED_CALL = (
    "It was not made: the same call appears in a message of somebody else or in the output of a command, so it counts "
    "as a quotation. If you mean it, call the tool instead of writing the call as text, or write it differently, for "
    "example with one more parameter."
)
TOO_MANY_CALLS = (
    "It was not made: this room contains so much text that looks like calls that yours cannot be told from a "
    "quotation. Call the tool instead of writing the call as text."
)

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class QuotationCheck:
    """The calls found in texts of others. Each text is read once per turn."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, frozenset[bytes] | None] = {}

    def reasons_not_to_run(
        self, calls: Iterable[ParsedCall], texts: Iterable[str], others: Iterable[ParsedCall] = ()
    ) -> list[str]:
        """Return for each call the reason not to run it, or an empty text. `others` are calls that others made.

        Pass only calls written in the text of an answer. Native tool calls cannot be quotations.
        """
        theirs = {self._call_key(one) for one in others}
        unread = False
        for text in texts:
            held = self._calls_in(text)
            unread = unread or held is None
            theirs |= held or frozenset()
        return [QUOTED_CALL if self._call_key(one) in theirs else TOO_MANY_CALLS if unread else "" for one in calls]

    def contains(self, call: ParsedCall, others: Iterable[ParsedCall]) -> bool:
        """Whether a call equals one of these, however it is written."""
        return self._call_key(call) in map(self._call_key, others)

    def _calls_in(self, text: str) -> frozenset[bytes] | None:
        """Return the calls in a text; None if the text is too costly to search."""
        if text not in self._known:
            found = find_calls(text)
            self._known[text] = frozenset(map(self._call_key, found.calls)) if found.whole else None
        return self._known[text]

    def _call_key(self, wanted: ParsedCall) -> bytes:
        """Return a key that is the same for every spelling of one call: its command and parameter values."""
        try:
            name = self._registry.resolve(wanted.name, offered=()).name  # no suggestions needed for unknown names
        except Refused:
            name = wanted.name
        given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
        return _encode_sorted([normalise(name), _normalize_value(dict(given))])


def _normalize_value(value: Any) -> Any:
    """Normalise a value: numbers become text, and white space is collapsed."""
    if isinstance(value, Mapping):
        return {normalise(str(key)).replace("_", ""): _normalize_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_value(one) for one in value]
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if value.lstrip()[:1] in ("{", "["):
        try:
            return _normalize_value(strictjson.loads(value))
        except strictjson.NotJson:
            pass
    return " ".join(value.split())
