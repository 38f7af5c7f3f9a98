"""Decides which tools are offered and on what terms, and finds names in an entry that match no tool."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.core import redact
from doorward.core.classification import Tier
from doorward.upstream import injection_warnings, tool_names
from doorward.upstream.config import ServerConfig, ToolTerms
from doorward.upstream.pins import MAX_TOOLS, ToolPin, ToolPins
from doorward.upstream.tool_definitions import ToolDefinition, read_definition
from doorward.upstream.tool_names import ToolKey, ToolNames, why_unusable

if TYPE_CHECKING:
    from doorward.upstream.upstream import Upstream
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.upstream import Upstream

_NO_TERMS = ToolTerms()
_SHORTEST_SECRET = 4
"""Shorter secrets are not masked, because that would mask ordinary words too."""
_encode = msgspec.json.Encoder().encode


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A tool that becomes a command."""

    upstream: Upstream
    definition: ToolDefinition
    names: ToolNames
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
    def key(self) -> ToolKey:
        return ToolKey(self.upstream.id, self.definition.name)

    @functools.cached_property
    def public_definition(self) -> ToolDefinition:
        """Its definition with the server's own secrets masked, in case it repeats them."""
        whole = self.mask_secrets(self.definition.whole)
        return self.definition if whole is self.definition.whole else read_definition(whole)

    def mask_secrets(self, whole: dict[str, Any]) -> dict[str, Any]:
        """Mask secrets; returns the same object when there are none."""
        known = [secret for secret in self.upstream.config.secrets if len(secret) >= _SHORTEST_SECRET]
        text = _encode(whole).decode() if known else ""
        if not any(_encode(secret).decode()[1:-1] in text for secret in known):
            return whole
        hidden: dict[str, Any] = _mask(whole, known)
        return hidden

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Suspicious parts of its definition."""
        return injection_warnings.find_warnings(self.public_definition)

    @property
    def is_changed(self) -> bool:
        return self.pinned != self.definition.digest

    @property
    def fingerprint(self) -> tuple[object, ...]:
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


def make_offers(
    upstreams: Iterable[Upstream], pins: ToolPins, taken: Callable[[], frozenset[str]], approval_required: bool
) -> list[ToolOffer]:
    """The offers of all servers. Tools that cannot be offered are recorded as problems of their server.

    `taken` are folded names that are in use already.
    """
    chosen: list[tuple[Upstream, ToolDefinition, ToolPin]] = []
    for upstream in upstreams:
        upstream.problems = ()
        if upstream.config.enabled:
            chosen += [(upstream, *one) for one in _allowed_tools(upstream, pins)]
    if not chosen:
        return []
    names = tool_names.name_tools((ToolKey(upstream.id, one.name) for upstream, one, _ in chosen), taken())
    return [
        make_offer(upstream, definition, names[ToolKey(upstream.id, definition.name)], pin, approval_required)
        for upstream, definition, pin in chosen
    ]


def _allowed_tools(upstream: Upstream, pins: ToolPins) -> Iterator[tuple[ToolDefinition, ToolPin]]:
    """The tools that the operator allows. Others are ignored; a tool that cannot be named is a problem."""
    problems: dict[str, None] = {}
    for definition in upstream.definitions:
        name = definition.name
        if not is_allowed(upstream.config, name):
            continue
        pin = pins.get_pin(upstream.id, name)
        if why := why_unusable(name):
            problems[f"a tool is left out: {why}"] = None
        elif pin is None:
            problems[f"it has listed more than {MAX_TOOLS} tools in total, so new ones are left out"] = None
        else:
            yield definition, pin
    upstream.problems = tuple(problems)


def is_allowed(config: ServerConfig, tool: str) -> bool:
    if any(matches_pattern(pattern, tool) for pattern in config.deny):
        return False
    return config.allow is None or any(matches_pattern(pattern, tool) for pattern in config.allow)


def make_offer(
    upstream: Upstream, definition: ToolDefinition, names: ToolNames, pin: ToolPin, approval_required: bool
) -> ToolOffer:
    """Make an offer on the operator's terms. The server's own claims do not affect them."""
    config = upstream.config
    terms = _find_terms(config.tools, definition.name)
    asks, new = _needs_approval(config, definition.name, terms, pin, approval_required)
    return ToolOffer(
        upstream=upstream,
        definition=definition,
        names=names,
        tier=terms.tier if terms.tier is not None else config.tier,
        cost=terms.cost if terms.cost is not None else config.cost,
        timeout=terms.timeout_seconds if terms.timeout_seconds is not None else config.timeout_seconds,
        asks_first=asks,
        new=new,
        withheld=_withheld_reason(upstream.id, definition, names) if pin.digest != definition.digest else "",
        pinned=pin.digest,
    )


def _needs_approval(
    config: ServerConfig, tool: str, terms: ToolTerms, pin: ToolPin, approval_required: bool
) -> tuple[bool, bool]:
    """Return whether each call needs approval, and whether only because the tool is new."""
    if terms.auto_approve is not None:
        return not terms.auto_approve, False
    if isinstance(config.auto_approve, bool):
        sweeping = config.auto_approve
    elif tool in config.auto_approve:
        return False, False
    else:
        sweeping = any(matches_pattern(pattern, tool) for pattern in config.auto_approve)
    sweeping = sweeping or not approval_required  # both were set before the server added later tools
    if sweeping and not pin.trusted:
        return True, True
    return not sweeping, False


def _find_terms(tools: Mapping[str, ToolTerms], tool: str) -> ToolTerms:
    """The operator's settings for this tool: by name, or else by the first matching pattern."""
    if tool in tools:
        return tools[tool]
    return next((terms for pattern, terms in tools.items() if matches_pattern(pattern, tool)), _NO_TERMS)


def _withheld_reason(server: str, definition: ToolDefinition, names: ToolNames) -> str:
    return (
        f"The server {server} changed the definition of {names.canonical} after it was approved, so it cannot run until"
        f" a person reviews it. Show the difference and decide: doorward servers approve {server} {definition.name}"
    )


def _mask(value: Any, known: list[str]) -> Any:
    if isinstance(value, str):
        return redact.remove(value, known)
    if isinstance(value, list):
        return [_mask(one, known) for one in value]
    if isinstance(value, dict):
        return {redact.remove(key, known): _mask(one, known) for key, one in value.items()}
    return value


def matches_pattern(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern. `*` matches anything; no other character is special."""
    return pattern == name or ("*" in pattern and _compile_pattern(pattern).fullmatch(name) is not None)


@functools.lru_cache(4_096)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", pattern)), re.DOTALL)


_OTHER_NAMES = ("resources.read", "prompts.get", "completion.complete")
"""Other names that the entry may use."""


def find_unknown_names(upstream: Upstream) -> list[str]:
    """A sentence for each field with names that match no tool. Empty before the server has listed its tools."""
    there = [one.name for one in upstream.definitions]
    if not there:
        return []
    config = upstream.config
    approved = () if isinstance(config.auto_approve, bool) else config.auto_approve
    found = []
    for field, names in (("tools", config.allow or ()), ("denyTools", config.deny), ("autoApprove", approved)):
        lost = [name for name in names if not any(matches_pattern(name, one) for one in (*there, *_OTHER_NAMES))]
        if lost:
            which = ", ".join(escape_invisible(name, lines=False) for name in lost)
            found.append(f"{field} names {which}, but the server has no such tool{'s' if len(lost) > 1 else ''}.")
    return found
