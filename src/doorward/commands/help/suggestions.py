"""Commands help/suggest, help/accept and help/forget: suggest one call, and learn from accepted suggestions."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.agent_services import Suggestion
from doorward.commands.catalogue.entry import ARGUMENTS_PARAMETER
from doorward.commands.context import Context
from doorward.commands.help import shell_line
from doorward.commands.help.command_match import (
    CommandMatch,
    is_destructive,
    match_command,
    required_params,
    string_values,
)
from doorward.commands.help.family import AllowedCommands, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, NoUndo, shorten
from doorward.core.errors import BadParams, NotPermitted
from doorward.rooms.people import LOCAL
from doorward.store.command_index import SearchHit
from doorward.store.command_texts import lexicon, words

_CHOICE = 20
_ALTERNATIVES = 5
_SURE_ENOUGH = 0.5
"""The minimum score of a suggestion by the keeper."""


class SuggestionResult(TypedDict):
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


class FileKinds(msgspec.Struct, frozen=True, dict=True):
    """The words for kinds of files, such as `python files`, and the glob for each kind."""

    command: str
    beside: frozenset[str]
    """Words that may occur in a query that asks for nothing but such files."""
    kinds: dict[str, str]

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"\b({'|'.join(self.kinds)})\s+files?\b", re.IGNORECASE)

    def match_query(self, query: str) -> Example | None:
        """The call that lists files of a kind, if the query asks for these and nothing else."""
        kind = self.pattern.search(query)
        if kind is None or set(words(query)) - lexicon().stop - self.beside - {kind[1].lower()}:
            return None
        return Example(kind[0].lower(), {"paths": ["."], "name": self.kinds[kind[1].lower()], "type": "f"})


@functools.cache
def load_file_kinds() -> FileKinds:
    return msgspec.json.decode(resources.files(__package__).joinpath("kinds.json").read_bytes(), type=FileKinds)


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
) -> SuggestionResult:
    """Suggest one call for what you want, among the commands you may run here. It is not run."""
    if not query.strip():
        raise BadParams("help/suggest needs a query; it has only blanks.")
    await ctx.services.index.ready()
    hits = ctx.services.index.hits(query, AllowedCommands(ctx), _CHOICE, ctx.caller.tenant, meaning=True)
    listed = load_file_kinds().match_query(query)
    if (
        listed is not None
        and load_file_kinds().command in ctx.services.registry
        and ctx.get_ruling(load_file_kinds().command).allowed
    ):
        return _suggest_example(
            ctx.services.registry[load_file_kinds().command], listed, 1.0, f"it asks for {listed.says}", hits
        )
    thought = await ctx.services.keeper.suggest(ctx, query, folder)
    if thought is not None and ctx.get_ruling(thought["command"]).allowed and _is_clear(ctx, thought, query):
        command = ctx.services.registry[thought["command"]]
        others = [*thought["alternatives"], *(hit.command for hit in hits)]
        return _make_suggestion(
            command, thought["params"], thought["explanation"], thought["score"], thought["reason"], others
        )
    registry, index = ctx.services.registry, ctx.services.index
    fits = [fit for hit in hits if (fit := match_command(index, registry[hit.command], hit, query)) is not None]
    best = max(fits, key=lambda fit: (fit.named, fit.hit.score), default=None)
    if best is None or best.withheld:
        return _no_suggestion(query, hits, best)
    return _suggest_with_gaps(best, hits)


def _suggest_example(command: Command, use: Example, score: float, why: str, hits: list[SearchHit]) -> SuggestionResult:
    return _make_suggestion(command, use.params, command.summary, score, why, [one.command for one in hits])


def _suggest_with_gaps(fit: CommandMatch, hits: list[SearchHit]) -> SuggestionResult:
    """Suggest the line with the values of the request, and with `<name>` for each missing parameter."""
    missing = fit.filled.missing
    gaps = f" Missing: {', '.join(missing)}. Fill in your own values." if missing else ""
    said = _make_suggestion(
        fit.command,
        fit.filled.params,
        f"{fit.command.summary}{gaps}",
        fit.hit.score,
        fit.hit.why,
        [one.command for one in hits],
    )
    return said | {"suggestion": shell_line.format_line(fit.command, fit.filled.line), "missing": missing}


def _is_clear(ctx: Context, thought: Suggestion, query: str) -> bool:
    """Whether the keeper's suggestion is safe to show: its score is high enough, no parameter is missing, no stop word
    is used as a value, and a target that would be destroyed occurs in the request."""
    command, params = ctx.services.registry[thought["command"]], thought["params"]
    values = [one.rpartition("/")[2].lower() for one in string_values(params)]
    if thought["score"] < _SURE_ENOUGH or any(one in lexicon().stop for one in values):
        return False
    if ARGUMENTS_PARAMETER not in params and not required_params(command) <= params.keys():
        return False
    return not is_destructive(command, ctx.services.index) or any(one and one in query.lower() for one in values)


def _make_suggestion(
    command: Command, params: Any, explanation: str, score: float, reason: str, others: list[str]
) -> SuggestionResult:
    return {
        "suggestion": shell_line.format_line(command, params),
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


def _no_suggestion(query: str, hits: list[SearchHit], withheld: CommandMatch | None = None) -> SuggestionResult:
    """Report that no command matches, or that the match is withheld because it destroys an unnamed target."""
    names = [withheld.command.name] if withheld is not None else []
    nearest = list(dict.fromkeys((*names, *(hit.command for hit in hits))))[:_ALTERNATIVES]
    near = f"Nearest: {', '.join(nearest)}" if nearest else "help/search --namespace=… lists commands"
    why = f"No command that you may run here clearly matches {shorten(query)}. {near}."
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


class AcceptResult(TypedDict):
    learned: bool
    why: Annotated[str, Meta(description="What was learned, or why nothing was learned")]


class ForgetResult(TypedDict):
    forgotten: Annotated[int, Meta(description="The number of forgotten pairs of query and command")]


@family.command(
    "accept",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("forget it with help/forget"),
    examples=[Example("accept a suggestion", {"query": "show big files", "command": "file/list"})],
    related=["help/suggest", "help/forget"],
    humans_only=True,
)
async def accept(
    ctx: Context,
    query: Annotated[str, Meta(description="The query of the suggestion", min_length=1, max_length=2_000)],
    command: Annotated[str, Meta(description="The command that was right for it", min_length=1, max_length=200)],
) -> AcceptResult:
    """Accept a suggested command, so that it ranks first next time. This needs the setting search.learn."""
    found = ctx.services.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL)
    ruling = ctx.get_ruling(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    if not ctx.services.accepted.learns:
        return {"learned": False, "why": "Nothing was learned: the setting search.learn is off."}
    await ctx.services.index.ready()
    stems = ctx.services.index.known_words(query)
    if not stems:
        return {"learned": False, "why": "Nothing was learned: the query has no word that occurs in a command."}
    await ctx.services.accepted.accept(ctx.caller.tenant, stems, found.name)
    return {"learned": True, "why": f"{found.name} ranks first for similar queries."}


@family.command(
    "forget",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("accept the suggestions again to relearn them"),
    examples=[Example("forget all accepted suggestions", {})],
    related=["help/accept"],
    humans_only=True,
)
async def forget(
    ctx: Context,
    command: Annotated[str, Meta(description="Only suggestions of this command; empty for all", max_length=200)] = "",
) -> ForgetResult:
    """Forget the accepted suggestions of your tenant."""
    name = ctx.services.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL).name if command else ""
    return {"forgotten": await ctx.services.accepted.forget(ctx.caller.tenant, name)}
