"""The command help/suggest: suggest one call for a request, without running it."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.help import spelling
from doorward.backends.help.family import Offered, family
from doorward.backends.help.filling import needed, texts
from doorward.backends.help.fitting import Fit, clear, destroys
from doorward.backends.keeper_desk import Suggestion
from doorward.catalogue.entry import ARGUMENTS
from doorward.command import READS_ONLY, Command, Example, shortened
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store.command_index import Hit
from doorward.store.command_texts import lexicon, words

_CHOICE = 20
_ALTERNATIVES = 5
_SURE_ENOUGH = 0.5
"""The minimum score of a suggestion by the keeper."""


class Suggested(TypedDict):
    suggestion: Annotated[str, Meta(description="The line to type; empty if no command matches")]
    command: Annotated[str, Meta(description="The suggested command; empty if no command matches")]
    params: Annotated[dict[str, Any], Meta(description="The parameters of the call")]
    missing: Annotated[list[str], Meta(description="Missing parameters; the line has <name> for each")]
    explanation: Annotated[str, Meta(description="What the call does, or why there is no suggestion")]
    score: Annotated[float, Meta(description="Relevance from 0 to 1")]
    reason: Annotated[str, Meta(description="Which words of the query match")]
    safety: Annotated[str, Meta(description="safe, caution or dangerous; empty if no command matches")]
    usage: Annotated[str, Meta(description="The parameters of the command on one line")]
    alternatives: Annotated[list[str], Meta(description="Other matching commands, or the nearest ones")]


class Kinds(msgspec.Struct, frozen=True, dict=True):
    """The words for kinds of files, such as `python files`, and the glob for each kind."""

    command: str
    beside: frozenset[str]
    """Words that may occur in a query that asks for nothing but such files."""
    kinds: dict[str, str]

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"\b({'|'.join(self.kinds)})\s+files?\b", re.IGNORECASE)

    def asked_for(self, query: str) -> Example | None:
        """The call that lists files of a kind, if the query asks for these and nothing else."""
        kind = self.pattern.search(query)
        if kind is None or set(words(query)) - lexicon().stop - self.beside - {kind[1].lower()}:
            return None
        return Example(kind[0].lower(), {"paths": ["."], "name": self.kinds[kind[1].lower()], "type": "f"})


@functools.cache
def kinds() -> Kinds:
    return msgspec.json.decode(resources.files(__package__).joinpath("kinds.json").read_bytes(), type=Kinds)


@family.command(
    "suggest",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("which command lists all python files", {"query": "list all python files"})],
    related=["help/search", "help/accept"],
)
async def suggest(
    ctx: Context,
    query: Annotated[str, Meta(description="What you want to do, in plain words", min_length=1, max_length=2_000)],
    folder: Annotated[
        str, Meta(description="Your current folder in the virtual file system", pattern="^/", max_length=4_000)
    ] = "/workspace",
) -> Suggested:
    """Suggest one call for what you want, among the commands you may run here. It is not run."""
    if not query.strip():
        raise BadParams("help/suggest needs a query; it has only blanks.")
    await ctx.house.index.ready()
    hits = ctx.house.index.hits(query, Offered(ctx), _CHOICE, ctx.caller.tenant, meaning=True)
    listed = kinds().asked_for(query)
    if listed is not None and kinds().command in ctx.house.registry and ctx.may(kinds().command).allowed:
        return _by_example(ctx.house.registry[kinds().command], listed, 1.0, f"it asks for {listed.says}", hits)
    thought = await ctx.house.keeper.suggest(ctx, query, folder)
    if thought is not None and ctx.may(thought["command"]).allowed and _is_clear(ctx, thought, query):
        command = ctx.house.registry[thought["command"]]
        others = [*thought["alternatives"], *(hit.command for hit in hits)]
        return _suggested(
            command, thought["params"], thought["explanation"], thought["score"], thought["reason"], others
        )
    registry, index = ctx.house.registry, ctx.house.index
    fits = [fit for hit in hits if (fit := clear(index, registry[hit.command], hit, query)) is not None]
    best = max(fits, key=lambda fit: (fit.named, fit.hit.score), default=None)
    if best is None or best.withheld:
        return _nothing(query, hits, best)
    return _with_gaps(best, hits)


def _by_example(command: Command, use: Example, score: float, why: str, hits: list[Hit]) -> Suggested:
    return _suggested(command, use.params, command.summary, score, why, [one.command for one in hits])


def _with_gaps(fit: Fit, hits: list[Hit]) -> Suggested:
    """Suggest the line with the values of the request, and with `<name>` for each missing parameter."""
    missing = fit.filled.missing
    gaps = f" Missing: {', '.join(missing)}. Fill in your own values." if missing else ""
    said = _suggested(
        fit.command,
        fit.filled.params,
        f"{fit.command.summary}{gaps}",
        fit.hit.score,
        fit.hit.why,
        [one.command for one in hits],
    )
    return said | {"suggestion": spelling.line(fit.command, fit.filled.line), "missing": missing}


def _is_clear(ctx: Context, thought: Suggestion, query: str) -> bool:
    """Whether the keeper's suggestion is safe to show: its score is high enough, no parameter is missing, no stop word
    is used as a value, and a target that would be destroyed occurs in the request."""
    command, params = ctx.house.registry[thought["command"]], thought["params"]
    values = [one.rpartition("/")[2].lower() for one in texts(params)]
    if thought["score"] < _SURE_ENOUGH or any(one in lexicon().stop for one in values):
        return False
    if ARGUMENTS not in params and not needed(command) <= params.keys():
        return False
    return not destroys(command, ctx.house.index) or any(one and one in query.lower() for one in values)


def _suggested(
    command: Command, params: Any, explanation: str, score: float, reason: str, others: list[str]
) -> Suggested:
    return {
        "suggestion": spelling.line(command, params),
        "command": command.name,
        "params": dict(params),
        "missing": [],
        "explanation": explanation,
        "score": round(min(1.0, score), 3),
        "reason": reason,
        "safety": command.facts.safety.value,
        "usage": command.usage,
        "alternatives": [name for name in dict.fromkeys(others) if name != command.name][:_ALTERNATIVES],
    }


def _nothing(query: str, hits: list[Hit], withheld: Fit | None = None) -> Suggested:
    """Report that no command matches, or that the match is withheld because it destroys an unnamed target."""
    names = [withheld.command.name] if withheld is not None else []
    nearest = list(dict.fromkeys((*names, *(hit.command for hit in hits))))[:_ALTERNATIVES]
    near = f"Nearest: {', '.join(nearest)}" if nearest else "help/search --namespace=… lists commands"
    why = f"No command that you may run here clearly matches {shortened(query)}. {near}."
    if withheld is not None:
        unsaid = ", ".join(withheld.filled.missing)
        why = f"The nearest is {withheld.command.name}, which destroys something. Name {unsaid} to get the line."
    return {
        "suggestion": "",
        "command": "",
        "params": {},
        "missing": [],
        "explanation": why,
        "score": hits[0].score if hits else 0.0,
        "reason": "",
        "safety": "",
        "usage": "",
        "alternatives": nearest,
    }
