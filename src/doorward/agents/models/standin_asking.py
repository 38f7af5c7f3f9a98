"""How a message asks: what of it is address and courtesy, and what in it speaks against doing anything."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from doorward.agents.models.standin_rules import Rule, book, compiled

_GIVEN = ("content", "command")
"""What is caught to be handed on as it is; anything else that is caught is a name or a pattern."""
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’"}
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ´`‘′", "'"))


def plain(text: str, names: Sequence[str] = ()) -> str:
    """What is asked, without the name of who is asked and without courtesy.

    A question mark goes as well where courtesy made a question of a request, as in "can you … ?". A message that is
    nothing else stays as it is.
    """
    whole = text = text.strip()
    asked = False
    known = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True) if one)
    named = re.compile(rf"^@?(?:{known})(?![\w.-]*\w)[,:!. ]*", re.IGNORECASE) if known else None
    while text:
        rest = named.sub("", text, count=1) if named else text
        rest = compiled(book().courtesy).sub("", rest, count=1).lstrip()
        if rest == text:
            break
        asked = asked or " you" in text[: len(text) - len(rest)].lower()
        text = rest
    text = compiled(book().afterwards).sub("", text)
    if known:
        text = re.sub(rf",? @?(?:{known})[.!? ]*$|(?<![\w@.-])@(?:{known})(?![\w-])", "", text, flags=re.IGNORECASE)
    text = text.rstrip("? ") if asked else text.strip()
    return text or whole


def unquoted(text: str) -> tuple[str, bool]:
    """What stands in quotation marks, if they hold all of it, and whether they do."""
    text = text.strip()
    end = _QUOTES.get(text[:1], "")
    inside = text[1:-1]
    if end and len(text) > 2 and text.endswith(end) and end not in inside and text[0] not in inside:
        return inside, True
    return text, False


def held_back(text: str, rule: Rule, caught: Mapping[str, str] | None = None) -> str:
    """Why a rule is not followed although it fits, or nothing.

    Without `caught` all of the text counts; otherwise what is outside of it, and what it hands on unless that is
    quoted: behind "saying" may stand a text to write, and a second thought.
    """
    outside, given = text, ""
    for name, value in (caught or {}).items():
        outside = outside.replace(value, " ", 1)
        if name in _GIVEN and not unquoted(value)[1]:
            given += f" {value}"
    outside, given = _bare(outside), _bare(given)
    for guard in book().guards:
        looked_at = outside if guard.outside else f"{outside}\n{given}"
        if rule.acts in guard.stops and compiled(guard.pattern).search(looked_at):
            return guard.why
    return ""


def _bare(text: str) -> str:
    """A text as the guards compare it: no letter looks like another, and nothing invisible parts a word."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return " ".join(text.translate(_APOSTROPHES).split())
