"""Which tools of a server are offered, and on what terms: the operator's word, held against what the pins know."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from doorward import redact
from doorward.facts import Tier
from doorward.upstream import naming, suspicion
from doorward.upstream.config import ServerConfig, ToolTerms
from doorward.upstream.definition import Definition, read
from doorward.upstream.naming import Names, Tool, unusable
from doorward.upstream.pins import MOST, Pin, Pins

if TYPE_CHECKING:
    from doorward.upstream.upstream import Upstream

_NOTHING_SAID = ToolTerms()
_SHORTEST_SECRET = 4
"""Hiding a shorter one would hide ordinary words."""
_encode = msgspec.json.Encoder().encode


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One tool that becomes a command."""

    upstream: Upstream
    definition: Definition
    names: Names
    tier: Tier
    cost: float
    timeout: float
    asks_first: bool
    """Whether agents and programs need a person's approval for every call."""
    new: bool
    """Whether it asks only because its server added it after it was known."""
    withheld: str
    """Why nobody may run it; empty when it is in force."""
    pinned: str
    """The digest of the definition that holds."""

    @property
    def tool(self) -> Tool:
        return Tool(self.upstream.id, self.definition.name)

    @functools.cached_property
    def shown(self) -> Definition:
        """Its definition as others may read it: without the secrets that its server was given, if it repeats them."""
        whole = self.without_secrets(self.definition.whole)
        return self.definition if whole is self.definition.whole else read(whole)

    def without_secrets(self, whole: dict[str, Any]) -> dict[str, Any]:
        """The same object when there are none in it."""
        known = [secret for secret in self.upstream.config.secrets if len(secret) >= _SHORTEST_SECRET]
        text = _encode(whole).decode() if known else ""
        if not any(_encode(secret).decode()[1:-1] in text for secret in known):
            return whole
        hidden: dict[str, Any] = _without(whole, known)
        return hidden

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """What in its definition looks as if it were meant to mislead."""
        return suspicion.warnings(self.shown)

    @property
    def changed(self) -> bool:
        return self.pinned != self.definition.digest

    @property
    def mark(self) -> tuple[object, ...]:
        """Two offers with one mark are the same."""
        return (
            self.upstream,
            self.definition.digest,
            self.names,
            self.tier,
            self.cost,
            self.timeout,
            self.asks_first,
            self.new,
            self.withheld,
            self.pinned,
            self.upstream.config.name,
        )


def offers(
    upstreams: Iterable[Upstream], pins: Pins, taken: Callable[[], frozenset[str]], approval_required: bool
) -> list[ToolOffer]:
    """All tools of all servers that become commands; what keeps others from it is said as a problem of their server.

    `taken` are the names, folded, that mean something else already.
    """
    chosen: list[tuple[Upstream, Definition, Pin]] = []
    for upstream in upstreams:
        upstream.problems = ()
        if upstream.config.enabled:
            chosen += [(upstream, *one) for one in _chosen(upstream, pins)]
    if not chosen:
        return []
    names = naming.named((Tool(upstream.id, one.name) for upstream, one, _ in chosen), taken())
    return [
        offer(upstream, definition, names[Tool(upstream.id, definition.name)], pin, approval_required)
        for upstream, definition, pin in chosen
    ]


def _chosen(upstream: Upstream, pins: Pins) -> Iterator[tuple[Definition, Pin]]:
    """The tools that the operator allows. What is not allowed does not exist; what cannot be named is a problem."""
    problems: dict[str, None] = {}
    for definition in upstream.definitions:
        name = definition.name
        if not allowed(upstream.config, name):
            continue
        pin = pins.pin(upstream.id, name)
        if why := unusable(name):
            problems[f"a tool is left out: {why}"] = None
        elif pin is None:
            problems[f"it has named more than {MOST} tools by now, so new ones are left out"] = None
        else:
            yield definition, pin
    upstream.problems = tuple(problems)


def allowed(config: ServerConfig, tool: str) -> bool:
    if any(matches(pattern, tool) for pattern in config.deny):
        return False
    return config.allow is None or any(matches(pattern, tool) for pattern in config.allow)


def offer(upstream: Upstream, definition: Definition, names: Names, pin: Pin, approval_required: bool) -> ToolOffer:
    """A tool on the operator's terms; what its server claims about it changes none of them."""
    config = upstream.config
    terms = _terms(config.tools, definition.name)
    asks, new = _asks(config, definition.name, terms, pin, approval_required)
    return ToolOffer(
        upstream=upstream,
        definition=definition,
        names=names,
        tier=terms.tier if terms.tier is not None else config.tier,
        cost=terms.cost if terms.cost is not None else config.cost,
        timeout=terms.timeout_seconds if terms.timeout_seconds is not None else config.timeout_seconds,
        asks_first=asks,
        new=new,
        withheld=_withheld(upstream.id, definition, names) if pin.digest != definition.digest else "",
        pinned=pin.digest,
    )


def _asks(config: ServerConfig, tool: str, terms: ToolTerms, pin: Pin, approval_required: bool) -> tuple[bool, bool]:
    """Whether each call needs approval, and whether only because the tool is new."""
    if terms.auto_approve is not None:
        return not terms.auto_approve, False
    if isinstance(config.auto_approve, bool):
        sweeping = config.auto_approve
    elif tool in config.auto_approve:
        return False, False
    else:
        sweeping = any(matches(pattern, tool) for pattern in config.auto_approve)
    sweeping = sweeping or not approval_required  # whoever said either had not seen the tools that came later
    if sweeping and not pin.trusted:
        return True, True
    return not sweeping, False


def _terms(tools: Mapping[str, ToolTerms], tool: str) -> ToolTerms:
    """What the operator says of this tool: by its name, or else by the first pattern that fits."""
    if tool in tools:
        return tools[tool]
    return next((terms for pattern, terms in tools.items() if matches(pattern, tool)), _NOTHING_SAID)


def _withheld(server: str, definition: Definition, names: Names) -> str:
    return (
        f"The definition of {names.canonical} is not the one that was approved: server {server} changed it, so nobody"
        f" may run it before a person has looked. See the difference and decide with: doorward servers approve {server}"
        f" {definition.name}"
    )


def _without(value: Any, known: list[str]) -> Any:
    if isinstance(value, str):
        return redact.without(value, known)
    if isinstance(value, list):
        return [_without(one, known) for one in value]
    if isinstance(value, dict):
        return {redact.without(key, known): _without(one, known) for key, one in value.items()}
    return value


def matches(pattern: str, name: str) -> bool:
    """Whether a name is the one meant; `*` stands for anything, and nothing else is special."""
    return pattern == name or ("*" in pattern and _compiled(pattern).fullmatch(name) is not None)


@functools.lru_cache(4_096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", pattern)), re.DOTALL)
