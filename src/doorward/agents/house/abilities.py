"""What it can be asked here: only what the commands that are offered can answer."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.agents.house import knowledge, smalltalk
from doorward.agents.house.choosing import chosen
from doorward.agents.house.plan import Plan
from doorward.agents.house.understanding import Mind


def said(what: str, mind: Mind) -> str:
    """The answer to `help`, or to a greeting."""
    return _help(mind) if what == "@help" else _hello(mind)


def _help(mind: Mind) -> str:
    words = knowledge.smalltalk()
    if not mind.tools:
        return words.no_commands
    areas = sorted({name.partition("/")[0] for name in mind.tools})
    shown = {what: _possible(asks, mind) for what, asks in words.abilities.items()}
    lines = [f"- {what}: " + ", ".join(f'"{one}"' for one in asks) for what, asks in shown.items() if asks]
    where, decides = (
        ("In this room", "The room's recipe and my access") if mind.seen.room else ("Here", "Rules and your access")
    )
    return words.help.format(
        abilities="\n".join(lines), where=where, count=len(mind.tools), areas=smalltalk.in_a_row(areas), decides=decides
    )


def _hello(mind: Mind) -> str:
    words = knowledge.smalltalk()
    asks = _possible(words.suggestions, mind)
    return words.hello.format(suggestions="\n".join(f"- {one}" for one in asks)) if asks else words.no_commands


def _possible(asks: Sequence[str], mind: Mind) -> list[str]:
    """Those of some requests that would be understood here, if they were asked just so."""
    return [one for one in asks if _is_sure(chosen(mind, one))]


def _is_sure(plan: Plan | str) -> bool:
    return isinstance(plan, Plan) and not plan.guessed
