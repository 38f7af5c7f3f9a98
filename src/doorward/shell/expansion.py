"""Expansion of aliases, variables, `$(…)`, `~` and file name patterns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from doorward.commands.context import Context
from doorward.shell.globs import Segment, is_pattern, match_glob
from doorward.shell.parser import MAX_PIPE_STAGES, ShellSyntaxError, parse_script
from doorward.shell.results import StageFault
from doorward.shell.secret_values import hide_secrets
from doorward.shell.session import ShellSession
from doorward.shell.syntax import CommandSubstitution, Part, Pipeline, Script, Stage, Text, Variable, Word


def expand_aliases(pipeline: Pipeline, aliases: Mapping[str, str]) -> Pipeline:
    """Replace the aliases in a pipeline. An alias is not expanded again inside its own expansion."""
    if not aliases:
        return pipeline
    stages: list[Stage] = []
    for stage in pipeline.stages:
        stages += _expand_stage(stage, aliases, frozenset())
    if len(stages) > MAX_PIPE_STAGES:
        raise StageFault(f"a pipe has at most {MAX_PIPE_STAGES} commands; with its aliases this one has {len(stages)}")
    return Pipeline(tuple(stages))


def _expand_stage(stage: Stage, aliases: Mapping[str, str], within: frozenset[str]) -> list[Stage]:
    name = stage.words[0].bare if stage.words else None
    if name is None or name not in aliases or name in within:
        return [stage]
    first, *others = _parse_alias(name, aliases[name])
    made = [*_expand_stage(first, aliases, within | {name}), *others]
    if len(made) > MAX_PIPE_STAGES:
        raise StageFault(f"the alias {name} expands to more than {MAX_PIPE_STAGES} commands")
    last = made[-1]
    made[-1] = msgspec.structs.replace(
        last, words=last.words + stage.words[1:], redirects=last.redirects + stage.redirects
    )
    return made


def _parse_alias(name: str, text: str) -> tuple[Stage, ...]:
    try:
        script = parse_script(text)
    except ShellSyntaxError as fault:
        raise StageFault(f"the alias {name} cannot be parsed: {fault.message}") from fault
    chains = [chain for line in script.lines for chain in line.chains]
    if len(chains) != 1 or chains[0].rest or not chains[0].first.stages[0].words:
        raise StageFault(f"the alias {name} must be one command or one pipe; it is {text!r:.100}")
    return chains[0].first.stages


MAX_CHARACTERS = 1_000_000
MAX_WORDS = 10_000
MAX_PATTERNS = 200
"""Maximum patterns in one script: each takes at least one call."""

RunSubstitution = Callable[[Script], Awaitable[str]]
"""Runs the script in `$(…)` and returns its output."""


class ExpansionBudget(msgspec.Struct):
    """The remaining limits for the expansions of one script, including its `$(…)`."""

    characters: int = MAX_CHARACTERS
    patterns: int = MAX_PATTERNS


class Expansion:
    """The expansions of one script."""

    def __init__(self, ctx: Context, session: ShellSession, printed: RunSubstitution, budget: ExpansionBudget) -> None:
        self._ctx = ctx
        self._session = session
        self._run_substitution = printed
        self._budget = budget

    async def expand_words(self, words: Iterable[Word]) -> list[str]:
        """Expand the words of a stage."""
        found: list[str] = []
        for word in words:
            for segments in await self._split_fields(word):
                found += await self._expand_glob(segments)
            if len(found) > MAX_WORDS:
                raise StageFault(f"the line expands to more than {MAX_WORDS} words", 1)
        return found

    async def expand_single(self, word: Word, what: str) -> str:
        """Expand a word that must become exactly one word, such as a file name."""
        found = await self.expand_words([word])
        if len(found) != 1:
            raise StageFault(f"{what} must be one word, but expands to {len(found)}; put it in quotes", 1)
        return found[0]

    async def expand_text(self, word: Word) -> str:
        """Expand a word as text, without splitting it and without patterns."""
        pieces = []
        for place, part in enumerate(word.parts):
            if isinstance(part, Text):
                pieces += [text for text, _ in self._expand_tilde(part, place, len(word.parts))]
            else:
                pieces.append(await self._expand_part(part))
        return "".join(pieces)

    async def _split_fields(self, word: Word) -> list[list[Segment]]:
        """The words that one word expands to, each as segments that may or may not be patterns."""
        fields: list[list[Segment]] = []
        current: list[Segment] = []
        for place, part in enumerate(word.parts):
            if isinstance(part, Text):
                current += self._expand_tilde(part, place, len(word.parts))
                continue
            value = await self._expand_part(part)
            if part.quoted:
                current.append((value, False))
                continue
            for number, piece in enumerate(_split_blanks(value)):
                if number and current:
                    fields.append(current)
                    current = []
                if piece:
                    current.append((piece, False))
        return [*fields, current] if current else fields

    def _expand_tilde(self, part: Text, place: int, parts: int) -> list[Segment]:
        text = part.text
        is_home = text.startswith("~/") or (text == "~" and parts == 1)
        if not part.quoted and place == 0 and is_home:
            return [(self._count(self._session.home), False), (text[1:], True)]
        return [(text, not part.quoted)]

    async def _expand_part(self, part: Part) -> str:
        match part:
            case CommandSubstitution(script=script):
                return self._count((await self._run_substitution(script)).rstrip("\n"))
            case Variable(name="?"):
                return str(self._session.status)
            case Variable(name=name, otherwise=otherwise):
                value = self._session.get_variable(name)
                if not value and otherwise is not None:
                    return await self.expand_text(otherwise)
                if value is None and name in self._session.lost:
                    raise StageFault(
                        f"the value of {name} is lost: secret variables are not kept across restarts; set it again", 1
                    )
                if value is None:
                    raise StageFault(f"the variable {name} is not set; ${{{name}:-}} gives an empty text instead", 1)
                return self._count(value)
            case Text(text=text):
                return text

    async def _expand_glob(self, segments: Sequence[Segment]) -> list[str]:
        text = "".join(one for one, _ in segments)
        if not is_pattern(segments):
            return [text]
        self._budget.patterns -= 1
        if self._budget.patterns < 0:
            raise StageFault(f"a script has at most {MAX_PATTERNS} file name patterns", 1)
        found = await match_glob(hide_secrets(self._ctx, self._session), self._session.cwd, segments)
        return [self._count(one) for one in found] or [text]

    def _count(self, text: str) -> str:
        self._budget.characters -= len(text)
        if self._budget.characters < 0:
            raise StageFault(f"variables, $( ) and patterns expand to more than {MAX_CHARACTERS} characters", 1)
        return text


def _split_blanks(value: str) -> list[str]:
    """Split a text at blanks; an empty first or last piece marks a blank there."""
    pieces = value.split()
    if value[:1].isspace():
        pieces.insert(0, "")
    if pieces and value[-1:].isspace():
        pieces.append("")
    return pieces
