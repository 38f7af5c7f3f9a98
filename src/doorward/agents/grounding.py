"""Check that an answer stands on results: what it says it did, its figures and its names.

The check is careful: it objects only where an answer claims something that nothing shown to the model holds. Text that
people asked for, questions, refusals and answers that need no data pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doorward.agents.figures import FigureCheck, read_figures

_MAX_CHARACTERS = 200_000
"""The most text that is searched for a claim."""
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_VERBS = (
    "deleted|removed|created|added|updated|changed|renamed|moved|written|wrote|saved|sent|marked|replaced|cancelled"
    "|canceled|restored|undone|appended|copied|edited|inserted|set|stored|registered|posted|restarted|stopped|installed"
)
_CLAIM = re.compile(
    rf"\bI(?:['\u2019]ve| have|)(?: now| just| successfully| already)* (?:{_VERBS})\b"
    rf"|\bsuccessfully (?:{_VERBS}|executed|completed|done)\b|\b(?:executed|completed|done) successfully\b"
    rf"|\b(?:(?:has|have) been|is now|are now) (?:successfully )?(?:{_VERBS})\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:I|we|it) (?:cannot|can['\u2019]t|could not|couldn['\u2019]t|do not|don['\u2019]t|did not|didn['\u2019]t"
    r"|may not|must not|am not|was not|will not|won['\u2019]t|give up|have no)\b"
    r"|\b(?:unable|not sure|not allowed|sorry)\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"n['\u2019]t\b|\b(?:not|no|cannot|fail\w*|error\w*|refus\w*|den(?:y|ied)|invalid|missing|unknown|wait\w*|approv\w*"
    r"|reject\w*|forbidden|permission|problem|sorry|stop\w*|interrupt\w*|timed? out|too \w+|nothing|without|gave up)\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"^\W*(?:no|none|nobody|nothing)\b|\bthere (?:is|are|was|were) (?:no|none|nobody|nothing)\b|\b(?:has|have) no\b",
    re.IGNORECASE,
)
_WRITING = re.compile(
    r"\b(?:write|compose|draft|poem|story|song|joke|essay|letter|explain|translate|suggest|imagine|ideas?|brainstorm"
    r"|rephrase|reword|summari[sz]e|say|repeat|pretend|invent|make up)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{3,80})[\"\u201d]|(?<!\w)'([^'\n]{3,80})'(?!\w)|`([^`\n]{3,80})`")
_NAME = re.compile(r"\b[A-Z][a-z\u00c0-\u024f]+(?: [A-Z][a-z\u00c0-\u024f]+)+\b")
_WORD = re.compile(r"\w+")
_EMPTY = re.compile(r"\bEmpty: |\bFound 0 items|\"count\": 0\b")
_COUNTS = re.compile(r"\((\d+) records\)")
"""Numbers of records in the instructions."""
_KNOWN = frozenset(
    (
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        *("the", "a", "an", "of", "and", "in", "for", "to", "with", "is", "are", "this", "that", "here", "no", "yes"),
    )
)


class CallStep(msgspec.Struct, frozen=True):
    """One call of a turn."""

    command: str
    status: str
    changes: bool
    """Whether it may have changed something."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer can stand on."""

    asked: str
    """The request."""
    conversation: str
    """What was said before, with earlier results."""
    instructions: str
    results: Sequence[str]
    """The results of this turn, without corrections."""
    steps: Sequence[CallStep]
    changed_before: bool = False
    """Whether the agent changed something earlier in the conversation."""
    about_data: bool = False
    """Whether the request is about records or files, so that an answer without a call is a guess."""


def is_unsure(answer: str) -> bool:
    """Whether an answer says that it does not know or cannot do something."""
    return _UNSURE.search(answer) is not None


def find_unfounded(answer: str, on: Evidence) -> str:
    """Return what is unfounded in an answer, as a sentence; empty if nothing is."""
    said = _FENCED.sub(" ", answer)[:_MAX_CHARACTERS]
    changed = on.changed_before or any(one.status == "done" and one.changes for one in on.steps)
    claim = _CLAIM.search(said)
    if claim and not changed and not _UNSURE.search(said) and _claims_own_action(claim[0], on):
        return f'It says "{claim[0]}", but no call of this turn changed anything.'
    is_open = bool(_FAILURE.search(said) or _UNSURE.search(said)) or "?" in said
    if on.steps and all(one.status != "done" for one in on.steps) and not is_open:
        return "None of its calls was done, and it does not say so."
    if said.rstrip().endswith("?") or _UNSURE.search(said):
        return ""
    if on.results and all(_EMPTY.search(text) for text in on.results) and not (_FAILURE.search(said) or "0" in said):
        return "All its results were empty, and it does not say so."
    has_results = any(one.status == "done" for one in on.steps)
    if not has_results and (not on.about_data or _WRITING.search(on.asked)):
        return ""
    if not has_results and _NONE.search(said):
        return "It says that there is none, but nothing was looked up."
    return _find_figure(said, on) or _find_name(said, on)


def _claims_own_action(claim: str, on: Evidence) -> bool:
    """Whether a claim is about this turn. "Has been deleted" may also be what a result says."""
    if claim[:1] == "I":
        return True
    verb = claim.rpartition(" ")[2].lower()
    earlier = on.conversation.replace(on.asked, "")
    return not any(verb in text.lower() for text in (*on.results, earlier))


def _find_figure(said: str, on: Evidence) -> str:
    counts = " ".join(_COUNTS.findall(on.instructions))
    results = [text[:_MAX_CHARACTERS] for text in on.results]
    others = [text[:_MAX_CHARACTERS] for text in (on.conversation, on.asked, counts)]
    figures = read_figures(said)
    check = FigureCheck(results, others, said) if figures else None
    for figure in figures:
        if check is not None and not check.holds(figure):
            return f"It says {figure}, and no result holds that figure."
    return ""


def _find_name(said: str, on: Evidence) -> str:
    names = [next(filter(None, found.groups())) for found in _QUOTED.finditer(said)]
    names += [found[0] for found in _NAME.finditer(said)]
    if not names:
        return ""
    texts = " ".join((*on.results, on.conversation, on.asked, on.instructions))
    held = set(_WORD.findall(texts.lower()[: 5 * _MAX_CHARACTERS]))
    for name in names:
        words = [word for word in _WORD.findall(name.lower()) if word not in _KNOWN and not word.isdigit()]
        if len(words) > 1 and not any(word in held for word in words):
            return f'It names "{name}", and no result holds that name.'
    return ""


def correct_unfounded(why: str, results: Sequence[str]) -> str:
    """Send an answer back to the model, with what the last result says."""
    last = f"\nThe last result was:\n{results[-1][:1_500]}" if results else ""
    return (
        f"Your answer was not sent. {why} Answer again, only with what a result says; look it up first if you have to. "
        f"If you cannot find out, say so.{last}"
    )


def describe_unfounded(why: str, steps: Sequence[CallStep]) -> str:
    """The honest answer in the place of one that stands on nothing."""
    calls = ", ".join(f"{one.command} ({one.status})" for one in steps[-10:]) or "none"
    return f"I could not find out: the answer of the model did not stand on any result. {why} Calls: {calls}."
