"""Everything that a request is understood with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any

from doorward.agents.house import mood
from doorward.agents.house.conversation import Conversation
from doorward.agents.house.dates import TimeSpan, find_spans
from doorward.agents.house.lexicon import Lexicon, lexicon_of
from doorward.agents.house.request import Request
from doorward.agents.models.model import ToolSpec

_WORDS = re.compile(r"[^\W_]+")


class RequestContext:
    def __init__(
        self,
        conversation: Conversation,
        text: str,
        now: float,
        zone: tzinfo,
        earlier: tuple[str, ...] | None = None,
    ) -> None:
        self.conversation = conversation
        self.text = text
        self.now = now
        self.zone = zone
        self.earlier = conversation.earlier if earlier is None else earlier
        """Earlier requests of the same person, newest first."""
        self.tools: Mapping[str, ToolSpec] = conversation.tools

    def with_text(self, text: str, earlier: tuple[str, ...] = ()) -> RequestContext:
        """Return the context of another text in the same conversation, such as a part of the request."""
        return RequestContext(self.conversation, text, self.now, self.zone, earlier)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the collections, fields and values that the caller may see."""
        return lexicon_of(self.conversation.data)

    @cached_property
    def request(self) -> Request:
        """The tokens, with slips of the keyboard corrected."""
        return self.lexicon.correct(Request(self.text), self._names)

    @cached_property
    def record_nouns(self) -> frozenset[int]:
        """The places of words that name a collection or a field, so that they are no unknown names."""
        named = (one for one in self.lexicon.matches(self.request) if one.meaning.kind != "value")
        return frozenset(place for one in named if one.meaning.weight >= 0.7 for place in one.places)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Names of files, commands, rooms and people, which are no slips of the keyboard."""
        texts = [*self.conversation.files, *self.tools, *self.conversation.names]
        texts += [
            str(one)
            for each in self.conversation.data
            if each.kind == "system"
            for f in each.fields
            for one in f.values
        ]
        return frozenset(word for text in texts for word in _WORDS.findall(text.lower()))

    @cached_property
    def spans(self) -> tuple[TimeSpan, ...]:
        """The dates and periods in the request."""
        return find_spans(self.request, datetime.fromtimestamp(self.now, self.zone))

    @cached_property
    def spans_ahead(self) -> tuple[TimeSpan, ...]:
        """The same periods, where a bare `Friday` or `May` is the one ahead."""
        return find_spans(self.request, datetime.fromtimestamp(self.now, self.zone), ahead=True)

    def settle_span(self, number: int, least: str, most: str) -> tuple[TimeSpan, list[str]]:
        """Return a period as tense and records from `least` to `most` settle it, and the years that it leaves open."""
        span, today = self.spans[number], datetime.fromtimestamp(self.now, self.zone).date().isoformat()
        ahead = next((one for one in self.spans_ahead if one.places == span.places), span)
        before = self.request.tokens[span.first - 1].lower if span.first else ""
        tense = mood.tense(self.text)
        if tense == "ahead" and before.endswith("ed"):
            tense = ""
        years = span.other_years(least, most)
        if tense == "past":
            years = [year for year in years if year <= today[:4]]
        if tense == "past" or ahead == span or not least or not most:
            return span, years
        if span.overlaps(least, most) != ahead.overlaps(least, most):
            return (ahead, []) if ahead.overlaps(least, most) else (span, years)
        if tense == "ahead" or (not span.yearless and most > today):
            return ahead, []
        return span, years

    def offered(self, *commands: str) -> str:
        """Return the first of these commands that is offered, or an empty text."""
        return next((one for one in commands if one in self.tools), "")

    def takes(self, command: str, parameter: str) -> bool:
        """Whether a command takes a parameter."""
        properties: Any = self.tools[command].schema.get("properties") if command in self.tools else None
        return isinstance(properties, Mapping) and parameter in properties
