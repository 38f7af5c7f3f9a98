"""What results are counted by and sorted by."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.entity import Group, Order
from doorward.agents.house.entities.fields import field_at
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.phrases import Phrases, listed


@cache
def _groups() -> Phrases[str]:
    return listed(vocabulary().group)


@cache
def _orders() -> Phrases[str]:
    return listed(vocabulary().order)


@cache
def _directions() -> Phrases[bool]:
    words = vocabulary()
    return Phrases({**dict.fromkeys(words.descending, True), **dict.fromkeys(words.ascending, False)})


@cache
def _whole() -> Phrases[tuple[str, bool]]:
    return Phrases(vocabulary().whole_orders)


def order(line: Line, i: int) -> Find | None:
    """`sorted by size`, `by amount descending`, `alphabetically`."""
    whole = _whole().at(line.tokens, i)
    if whole is not None:
        (quality, down), end = whole
        return "order", Order(quality, down), i, end
    begun = _orders().at(line.tokens, i)
    at = begun[1] if begun else i + 1
    if begun is None and line.lower(i) != "by":
        return None
    superlative = _by_quality(line, i, at) if begun or _sorts(line, i) else None
    if superlative is not None:
        return superlative
    field = field_at(line, at)
    if field is None:
        return None
    name, end = field
    direction = _directions().at(line.tokens, end + 1 if line.lower(end) in (",", "(") else end)
    if direction is not None:
        behind = direction[1] + 1 if line.lower(direction[1]) == ")" else direction[1]
        return "order", Order(name, direction[0]), i, behind
    last = name.rpartition(" ")[2]
    if begun is not None:
        return "order", Order(name, begun[0].startswith("rank") or _from_top(line, i)), i, end
    if _sorts(line, i):
        return "order", Order(name, _from_top(line, i)), i, end
    if name in vocabulary().order_fields and not _counts(line, i) and last:
        return "order", Order(name, "size" in name), i, end
    return None


def _by_quality(line: Line, i: int, at: int) -> Find | None:
    """`sorted by newest`, `sort by largest first`."""
    quality = vocabulary().superlatives.get(line.lower(at))
    if quality is None:
        return None
    end = at + 2 if line.lower(at + 1) == "first" else at + 1
    return "order", Order(quality[0], quality[1]), i, end


def _sorts(line: Line, i: int) -> bool:
    """Whether a word for sorting, or the top of something, stands before `by`."""
    words = vocabulary()
    for k in range(max(0, i - 8), i):
        if line.lower(k) in words.sort_verbs and (
            line.lower(k) != "order" or k == 0 or line.lower(k - 1) in ("and", "then", ",")
        ):
            return True
        if line.lower(k) in (
            "top",
            "bottom",
            "highest",
            "lowest",
            "largest",
            "biggest",
            "smallest",
            "best",
            "worst",
            "leading",
        ):
            return True
    return False


def _from_top(line: Line, i: int) -> bool:
    """The top and the largest begin with the most; a plain sort begins with the least."""
    tops = ("top", "highest", "largest", "biggest", "best", "leading", "rank", "ranked")
    return any(line.lower(k) in tops for k in range(max(0, i - 8), i))


def _counts(line: Line, i: int) -> bool:
    return any(one.kind in ("measure", "group") for one in line.found)


def group(line: Line, i: int) -> Find | None:
    """`by access level`, `per status`, `for each customer`; a second field behind `and` is a group of its own."""
    if line.lower(i) == "and":
        return _further(line, i)
    begun = _groups().at(line.tokens, i)
    if begun is None:
        return None
    word, at = begun
    if word == "by" and _is_doer(line, i):
        return None
    if word in vocabulary().group_only_front and i > 0 and word in ("each", "every"):
        return None
    field = field_at(line, at)
    if field is None or field[0] in (
        "hand",
        "itself",
        "default",
        "myself",
        "far",
        "mistake",
        "accident",
        "any chance",
        "chance",
    ):
        return None
    return "group", Group(field[0]), i, field[1]


def _is_doer(line: Line, i: int) -> bool:
    """Whether `by` names who did something."""
    follows = line.tokens[i + 1] if i + 1 < len(line.tokens) else None
    if follows is None or follows.shape == "email" or follows.text.startswith("@"):
        return True
    if line.lower(i - 1) in vocabulary().done_by and not _counts(line, i):
        return True
    return follows.text[:1].isupper() and not follows.text.isupper() and i > 0 and not line.text.istitle()


def _further(line: Line, i: int) -> Find | None:
    if not line.found or line.found[-1].kind != "group" or line.taken[-1][1] != i:
        return None
    at = i + 2 if line.lower(i + 1) in ("by", "per") else i + 1
    if line.lower(at) in vocabulary().acts and line.lower(at) not in ("name", "group", "order", "email"):
        return None
    field = field_at(line, at)
    return ("group", Group(field[0]), i, field[1]) if field is not None else None
