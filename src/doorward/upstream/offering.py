"""Decides which tools are offered and on what terms, from the operator's settings and the pins."""

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
"""Shorter secrets are not masked, because that would mask ordinary words too."""
_encode = msgspec.json.Encoder().encode


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A tool that becomes a command."""

    upstream: Upstream
    definition: Definition
    names: Names
    tier: Tier
    cost: float
    timeout: float
    asks_first: bool
    """Whether every call by an agent or program needs a person's approval."""
    new: bool
    """Whether it needs approval only because a known server added it later."""
    withheld: str
    """Why nobody may run it; empty when it can run."""
    pinned: str
    """Digest of the approved definition."""

    @property
    def tool(self) -> Tool:
        return Tool(self.upstream.id, self.definition.name)

    @functools.cached_property
    def shown(self) -> Definition:
        """Its definition with the server's own secrets masked, in case it repeats them."""
        whole = self.without_secrets(self.definition.whole)
        return self.definition if whole is self.definition.whole else read(whole)

    def without_secrets(self, whole: dict[str, Any]) -> dict[str, Any]:
        """Mask secrets; returns the same object when there are none."""
        known = [secret for secret in self.upstream.config.secrets if len(secret) >= _SHORTEST_SECRET]
        text = _encode(whole).decode() if known else ""
        if not any(_encode(secret).decode()[1:-1] in text for secret in known):
            return whole
        hidden: dict[str, Any] = _without(whole, known)
        return hidden

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Suspicious parts of its definition."""
        return suspicion.warnings(self.shown)

    @property
    def changed(self) -> bool:
        return self.pinned != self.definition.digest

    @property
    def mark(self) -> tuple[object, ...]:
        """Identifies the offer: offers with equal marks are the same."""
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
    """The offers of all servers. Tools that cannot be offered are recorded as problems of their server.

    `taken` are folded names that are in use already.
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
    """The tools that the operator allows. Others are ignored; a tool that cannot be named is a problem."""
    problems: dict[str, None] = {}
    for definition in upstream.definitions:
        name = definition.name
        if not allowed(upstream.config, name):
            continue
        pin = pins.pin(upstream.id, name)
        if why := unusable(name):
            problems[f"a tool is left out: {why}"] = None
        elif pin is None:
            problems[f"it has listed more than {MOST} tools in total, so new ones are left out"] = None
        else:
            yield definition, pin
    upstream.problems = tuple(problems)


def allowed(config: ServerConfig, tool: str) -> bool:
    if any(matches(pattern, tool) for pattern in config.deny):
        return False
    return config.allow is None or any(matches(pattern, tool) for pattern in config.allow)


def offer(upstream: Upstream, definition: Definition, names: Names, pin: Pin, approval_required: bool) -> ToolOffer:
    """Make an offer on the operator's terms. The server's own claims do not affect them."""
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
    """Return whether each call needs approval, and whether only because the tool is new."""
    if terms.auto_approve is not None:
        return not terms.auto_approve, False
    if isinstance(config.auto_approve, bool):
        sweeping = config.auto_approve
    elif tool in config.auto_approve:
        return False, False
    else:
        sweeping = any(matches(pattern, tool) for pattern in config.auto_approve)
    sweeping = sweeping or not approval_required  # both were set before the server added later tools
    if sweeping and not pin.trusted:
        return True, True
    return not sweeping, False


def _terms(tools: Mapping[str, ToolTerms], tool: str) -> ToolTerms:
    """The operator's settings for this tool: by name, or else by the first matching pattern."""
    if tool in tools:
        return tools[tool]
    return next((terms for pattern, terms in tools.items() if matches(pattern, tool)), _NOTHING_SAID)


def _withheld(server: str, definition: Definition, names: Names) -> str:
    return (
        f"The server {server} changed the definition of {names.canonical} after it was approved, so it cannot run until"
        f" a person reviews it. Show the difference and decide: doorward servers approve {server} {definition.name}"
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
    """Whether a name matches a pattern. `*` matches anything; no other character is special."""
    return pattern == name or ("*" in pattern and _compiled(pattern).fullmatch(name) is not None)


@functools.lru_cache(4_096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", pattern)), re.DOTALL)
