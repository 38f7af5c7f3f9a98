"""Alias expansion of the session shell: a word replaced by the beginning of a command."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doorward.backends.session.called import StageFault
from doorward.backends.session.language import MOST_PIPED, Fault, parse
from doorward.backends.session.syntax import Pipeline, Stage


def unaliased(pipeline: Pipeline, aliases: Mapping[str, str]) -> Pipeline:
    """Replace the aliases in a pipeline. An alias is not expanded again inside its own expansion."""
    if not aliases:
        return pipeline
    stages: list[Stage] = []
    for stage in pipeline.stages:
        stages += _stages(stage, aliases, frozenset())
    if len(stages) > MOST_PIPED:
        raise StageFault(f"a pipe has at most {MOST_PIPED} commands; with its aliases this one has {len(stages)}")
    return Pipeline(tuple(stages))


def _stages(stage: Stage, aliases: Mapping[str, str], within: frozenset[str]) -> list[Stage]:
    name = stage.words[0].bare if stage.words else None
    if name is None or name not in aliases or name in within:
        return [stage]
    first, *others = _meaning(name, aliases[name])
    made = [*_stages(first, aliases, within | {name}), *others]
    if len(made) > MOST_PIPED:
        raise StageFault(f"the alias {name} expands to more than {MOST_PIPED} commands")
    last = made[-1]
    made[-1] = msgspec.structs.replace(
        last, words=last.words + stage.words[1:], redirects=last.redirects + stage.redirects
    )
    return made


def _meaning(name: str, text: str) -> tuple[Stage, ...]:
    try:
        script = parse(text)
    except Fault as fault:
        raise StageFault(f"the alias {name} cannot be parsed: {fault.message}") from fault
    chains = [chain for line in script.lines for chain in line.chains]
    if len(chains) != 1 or chains[0].rest or not chains[0].first.stages[0].words:
        raise StageFault(f"the alias {name} must be one command or one pipe; it is {text!r:.100}")
    return chains[0].first.stages
