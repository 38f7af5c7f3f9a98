"""From what somebody said to a plan, or to a sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

import msgspec

from doorward.agents.house import (
    accounting,
    answering,
    figuring,
    knowledge,
    records,
    retrieval,
    smalltalk,
    tables,
    taught,
)
from doorward.agents.house.asking import is_told, talk
from doorward.agents.house.choosing import chosen
from doorward.agents.house.filling import Missing
from doorward.agents.house.following import followed, picked, pieces, referring, refers_to_one
from doorward.agents.house.matching import Match, matches
from doorward.agents.house.plan import Around, End, NotOffered, Plan, Step, Steps, Telling, Unknown
from doorward.agents.house.said import Said, said
from doorward.agents.house.seen import Seen
from doorward.agents.house.slots import Slots
from doorward.agents.house.trying import tried
from doorward.agents.models.model import ToolSpec

_CHANGES = ("delete", "write", "append", "create", "rename", "move", "copy", "edit", "undo", "run")
_ORDERS = knowledge.form("understanding: orders")
_NO_CHANGE = knowledge.form("understanding: no change")
_SURE = 1.0
_PLAIN = 3.5
_WHOLE = 2.4
"""From here on an intent that explains every word is meant, though a collection is named as well."""
_NEAR = 0.4
_HOW_TO = knowledge.form("understanding: how to")
_SPOKEN = knowledge.form("understanding: spoken")
_SPOKEN_OF = knowledge.form("understanding: spoken of")
_RAN = knowledge.form("understanding: ran")


_ASKED_FOR = frozenset(("which", "what", "many", "list", "show", "all", "the", "our", "count", "any", "my"))
_WHICH_COMMAND = knowledge.form("understanding: which command")


class Mind:
    """What one request is understood with."""

    def __init__(self, seen: Seen, now: float, zone: tzinfo) -> None:
        self.seen = seen
        self.now = now
        self.zone = zone
        self.tools: Mapping[str, ToolSpec] = seen.tools
        self._known: dict[int, tuple[Said, Slots]] = {}
        """What was worked out for a wording already, which is asked for again and again."""

    def around(self, one: Said, caught: Mapping[str, str] | None = None) -> Around:
        if caught is not None:
            return Around(Slots(one, self.seen, self.now, caught), self.tools, self.now)
        key = id(one)
        if key not in self._known:
            self._known[key] = (one, Slots(one, self.seen, self.now))
        return Around(self._known[key][1], self.tools, self.now)

    def understood(self) -> Plan | str:
        """The plan for the question, or what is said instead."""
        return chosen(self, self.seen.question)

    def read(self, text: str) -> Plan | str:
        """The plan for a message in one wording, or what is said instead."""
        words = knowledge.smalltalk()
        reply = talk(text)
        if reply is not None:
            return reply
        if not text.strip():
            return self.unknown()
        one = said(text, self.now, self.zone)
        if one.reading.held_back:
            return self._how_to(one) or smalltalk.did_nothing(one.reading.held_back, self._how(one))
        if not one.reading.english:
            return words.not_english
        if is_told(one):
            return self._spoken_of(one) or self.unknown(one)
        phrase = taught.plan(self.around(one))
        if phrase is not None:
            return self._allowed(phrase, one)
        going_on = followed(self, one)
        if going_on is not None:
            return going_on
        return self.planned(one) or self.unknown(one)

    def planned(self, one: Said) -> Plan | str | None:
        """The plan for a request that stands for itself; None when it is not understood."""
        parts = pieces(one, self.now, self.zone)
        if len(parts) > 1:
            plans = self._parts(parts[:4])
            if plans:
                return _several(plans)
        return self._single(one)

    def _parts(self, parts: list[Said]) -> list[Plan]:
        """The plans of several wishes in one breath; empty when one of them is not understood by itself."""
        first = self._single(parts[0])
        plans = [first] if isinstance(first, Plan) else []
        for part in parts[1:]:
            made = picked(self, part, parts[0]) if refers_to_one(part) and not plans[:1:-1] else None
            if made is not None and plans:
                return [made]
            plan = self._single(referring(part, parts[0], self.now, self.zone))
            if not isinstance(plan, Plan) or not plans:
                return []
            if plan.name == "files found" and plans[-1].name == "files found":
                continue
            plans.append(plan)
        return plans

    def _single(self, one: Said) -> Plan | str | None:
        change = self._change(one)
        if change is not None:
            return change
        if _begins_a_change(one):
            return self._retrieved(one)
        spoken = self._mentioned(one)
        if spoken is not None:
            return spoken
        cannot = figuring.of_two_fields(one.text)
        if cannot:
            return cannot
        looked = self._look(one) or self._retrieved(one)
        if looked is not None:
            return looked
        perhaps = records.plan(self.around(one), sure=True)
        begun = self._begun(perhaps) if perhaps is not None else None
        return begun if isinstance(begun, Plan) else None

    def _mentioned(self, one: Said) -> str | None:
        """A change that is spoken of and not asked for; nothing is done then, unless it is clear what is looked for."""
        spoken = _SPOKEN.search(_outside(one)) or (_SPOKEN_OF.search(one.text) and not _RAN.search(one.text))
        if not spoken or any(match.score >= _PLAIN for match in matches(self.around(one).slots)[:1]):
            return None
        return self._spoken_of(one)

    def _spoken_of(self, one: Said) -> str | None:
        """What is said to somebody who speaks of a change without asking for it."""
        how = self._how(one)
        why = one.reading.changes_nothing or knowledge.smalltalk().not_plain
        return smalltalk.did_nothing(why, how) if how else None

    def _change(self, one: Said) -> Plan | str | None:
        around = self.around(one)
        for match in matches(around.slots, changes=True):
            if one.reading.changes_nothing and match.intent.plan != "undo":
                return smalltalk.did_nothing(one.reading.changes_nothing, match.intent.ask)
            if len(one.whole) > knowledge.LONGEST:
                return smalltalk.did_nothing(knowledge.smalltalk().too_long, match.intent.ask)
            made = self._plan(match, self.around(one, match.caught))
            if made is not None:
                return made
        return None

    def _look(self, one: Said) -> Plan | str | None:
        """What only looks: the best intent, or records, whichever explains more."""
        around = self.around(one)
        found = matches(around.slots)
        best = found[0] if found else None
        about = records.plan(around, sure=False)
        plain = best is not None and not best.unexplained and best.score >= _WHOLE
        figures = one.entity("group", "compare", "order") is not None
        if about is not None and (best is None or (about.score > best.score and not (plain and not figures))):
            begun = self._begun(about)
            if isinstance(begun, Plan):
                return begun
            about = None
        if about is not None and best is not None and _asks_for_others(one, best):
            begun = self._begun(about)
            if isinstance(begun, Plan):
                return tried(
                    begun, (self._plan(match, self.around(one, match.caught)) for match in found[:2]), settles=True
                )
            about = None
        refused: str | None = None
        top: float | None = None
        for match in found[:6]:
            if match.score < _SURE or (top is not None and match.score < top - 1.0):
                break
            made = self._plan(match, self.around(one, match.caught))
            over = accounting.passed_over(one, match) if isinstance(made, Plan) else ""
            if over:
                made = smalltalk.unused(over, match.intent.noun[1] or match.intent.thing)
            if isinstance(made, Plan):
                return made
            if made is not None:
                top = match.score if top is None else top
                refused = refused or made
            elif about is not None and about.score > match.score - 1.0:
                break
        return (self._begun(about) if about is not None else None) or refused

    def _plan(self, match: Match, around: Around) -> Plan | str | None:
        """A plan whose first step can be made; a sentence where what it needs is not offered."""
        return self._begun(answering.planned(match.intent, around, min(1.0, match.score / 4)))

    def _begun(self, plan: Plan) -> Plan | str | None:
        try:
            first = next(plan.steps)
        except (Missing, StopIteration):
            return None
        except NotOffered as error:
            return smalltalk.not_offered(str(error)) if self.tools else knowledge.smalltalk().no_commands
        except Unknown as error:
            return str(error)
        return msgspec.structs.replace(plan, steps=_again(first, plan.steps))

    def _retrieved(self, one: Said) -> Plan | str | None:
        found = retrieval.plan(self.around(one))
        return self._allowed(found, one) if found is not None else None

    def _allowed(self, plan: Plan, one: Said) -> Plan | str:
        if plan.changes and one.reading.changes_nothing:
            return smalltalk.did_nothing(one.reading.changes_nothing)
        return plan

    def _how_to(self, one: Said) -> Plan | str | None:
        """Somebody who asks how something is done is shown the commands for it, and nothing is done."""
        asked = _HOW_TO.match(one.text) or _WHICH_COMMAND.match(one.text)
        tool = self.tools.get("help/search")
        if asked is None or one.entity("path", "quoted", "glob"):
            return None
        near = retrieval.ranked(self.around(said(asked["what"], self.now, self.zone)))
        if tool is None or not near or near[0].score < _NEAR:
            return self.unknown(one)
        return taught.made(
            "help/search", {"query": asked["what"].strip(" ?.!"), "limit": 5}, tool, 0.7, "how it is done"
        )

    def _how(self, one: Said) -> str:
        """How to ask plainly for the change that a request speaks of."""
        acts = {name: knowledge.concepts()[name] for name in _CHANGES}
        spoken = next((name for name, phrases in acts.items() if one.places(phrases)), "")
        return next((one.ask for one in knowledge.intents() if one.changes and one.act == spoken and one.ask), "")

    def unknown(self, one: Said | None = None) -> str:
        words = knowledge.smalltalk()
        again = self.seen.answered.startswith(words.not_understood.partition(":")[0])
        if not self.tools:
            return words.no_commands
        near = retrieval.nearest(self.around(one)) if one is not None and not again else ()
        return smalltalk.not_understood(near, again=again)


def _asks_for_others(one: Said, best: Match) -> bool:
    """Whether a request names what the best intent knows nothing of: `which tickets are pending`."""
    places = [place for place in one.content() if one.words[place].lower in best.unexplained]
    return any(
        one.words[place].lower in tables.nouns(one)
        and one.words[place].lower.endswith("s")
        and place
        and any(one.words[before].lower in _ASKED_FOR for before in range(max(0, place - 2), place))
        for place in places
    )


def _again(first: list[Step], rest: Steps) -> Steps:
    """A plan from its beginning, of which the first step was already looked at."""
    got = yield first
    try:
        wanted = rest.send(got)
        while True:
            got = yield wanted
            wanted = rest.send(got)
    except StopIteration as stop:
        end: End = stop.value
        return end


def _several(plans: list[Plan]) -> Plan:
    """Several plans one after the other, told together."""

    def steps() -> Steps:
        tellings: list[Telling] = []
        for plan in plans:
            end = yield from plan.steps
            if isinstance(end, str):
                return end
            tellings.append(end)
        return Telling(tellings[0].asked, tellings[0].results, also=tuple(tellings[1:]))

    changes = any(one.changes for one in plans)
    guessed = any(one.guessed for one in plans)
    score = min(one.score for one in plans)
    return Plan("several", plans[0].asked, steps(), score, plans[0].reason, changes, guessed)


def _begins_a_change(one: Said) -> bool:
    """Whether the request begins with a verb that changes something; then it is never taken for a look."""
    if _NO_CHANGE.match(one.text):
        return False
    first = one.words[0].lower if one.words else ""
    acts = knowledge.synonyms().acts
    spelt = {phrase.split()[0] for name in _CHANGES for phrase in acts[name].split("|")}
    return first in spelt - {"new", "restore", "back", "bring", "take", "clear"} or _ORDERS.match(one.text) is not None


def _outside(one: Said) -> str:
    """The text without paths and quotations."""
    text = one.text
    for entity in reversed(one.reading.of("path", "quoted", "glob", "url")):
        text = f"{text[: entity.start]} {text[entity.end :]}"
    return text
