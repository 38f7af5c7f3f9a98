"""What stands in the slots of an example: what was found in a request, or words that nothing else explains."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import stem
from doorward.agents.house.phrasing.items import EACH, Item, folders, no_records
from doorward.agents.house.said import Said

_KINDS: dict[str, tuple[str, ...]] = {
    "path": ("path", "glob"),
    "file": ("path",),
    "folder": ("path",),
    "kind": ("kind", "glob"),
    "span": ("span",),
    "age": ("age",),
    "size": ("size",),
    "n": ("number",),
    "id": ("id",),
    "command": ("command",),
    "quoted": ("quoted",),
    "text": ("quoted", "number"),
    "word": ("quoted",),
    "name": ("quoted",),
    "room": ("quoted",),
    "user": ("quoted",),
    "recipe": ("quoted",),
    "program": (),
    "noun": (),
    "nouns": (),
    "field": (),
    "value": ("quoted", "number"),
}
"""The finds that fit into a slot."""
_OPEN = {"folder": 1, "word": 3, "name": 1, "room": 1, "user": 1, "recipe": 1, "program": 1, "noun": 1, "nouns": 1}
_OPEN |= {"field": 1, "value": 2, "text": 12, "thing": 1}
"""Slots that words may fill which nothing else explains, and how many of them at most."""
_TIED = ("->", "named", "called", "titled", EACH)
"""What stands before a slot and cannot be left out."""
_NAMES = ("room", "user", "recipe", "folder")
_PLACED = ("in", "inside", "under", "from", "of", "into", "through")
"""Words before the name of a folder."""
_WITHIN = ("in", "inside", "into")
"""Words before the name of a place, which are never before somebody's."""
_NOBODY = knowledge.words("slots: no person")
_APART = ("by", EACH)
"""Words before what things are told apart by."""
_OF_RECORDS = ("noun", "nouns", "field", "value")
_SEVERAL = re.compile(r"[a-z]{2}[^sui\W]s$", re.IGNORECASE)
"""How several of something are written: what is asked about, and no value of it."""
_ONES = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}


class Slot(msgspec.Struct, frozen=True):
    name: str
    type: str
    link: str = ""
    """The word or mark before it in the example."""


class Filled(msgspec.Struct, frozen=True):
    """What is to be filled."""

    slots: tuple[Slot, ...]
    optional: frozenset[str]
    """Types of further slots that may be filled."""
    bare: bool
    """Whether the example has no words beside its slots: then the word before each slot must be the same."""


def filled(wanted: Filled, finds: Sequence[Item], left: Sequence[Item], one: Said) -> dict[str, str] | None:
    """The value of each slot; None when one stays empty, or when something that was said fits into none."""
    values: dict[str, str] = {}
    rest = list(finds)
    groups = _groups(left, one)
    free = [slot for slot in wanted.slots if slot.type in _OPEN]
    by_words = 0 < len(free) <= sum(map(len, groups))
    open_slots: list[Slot] = []
    for slot in sorted(wanted.slots, key=lambda each: each.type in _OPEN):
        alike = [each for each in wanted.slots if each.type == slot.type]
        fitting = [item for item in rest if _fits(slot, item)]
        chosen = None if by_words and slot.type in _OPEN else _chosen(slot, fitting, alike)
        if chosen is not None:
            values[slot.name] = _written(slot, chosen)
            rest.remove(chosen)
        elif slot.type in _OPEN:
            open_slots.append(slot)
        else:
            return None
    for kind in wanted.optional:
        item = next((each for each in rest if each.kind in _KINDS.get(kind, ())), None)
        if item is not None and kind not in values:
            values[kind] = item.text
            rest.remove(item)
    if rest:
        return None
    optional = [Slot(kind, kind) for kind in wanted.optional if kind in _OPEN and kind not in values]
    if len(groups) < len(open_slots) == sum(map(len, groups)):
        groups = [[item] for group in groups for item in group]
    if len(groups) != len(open_slots):
        if len(groups) < len(open_slots) or len(groups) > len(open_slots) + len(optional):
            return None
        open_slots += optional[: len(groups) - len(open_slots)]
    return _opened(open_slots, groups, values, wanted.bare)


def _opened(
    slots: Sequence[Slot], groups: list[list[Item]], values: dict[str, str], bare: bool
) -> dict[str, str] | None:
    """Slots that are filled by words: each by the ones with the link before it, and else in order."""
    rest = list(groups)
    for slot in sorted(slots, key=lambda each: not each.link):
        linked = [group for group in rest if slot.link and group[0].link == slot.link]
        group = linked[0] if linked else rest[0]
        if slot.link and not linked and (bare or slot.link in _TIED):
            return None
        named = slot.type not in _NAMES or all(_may_name(item, slot) for item in group)
        if len(group) > _OPEN[slot.type] or not named:
            return None
        if group[0].link in _APART and slot.link not in _APART and slot.type in _OF_RECORDS:
            return None  # what is told apart by it would be lost
        if slot.type in _OF_RECORDS and group[0].text.lower() in no_records():
            return None
        if slot.type == "nouns" and not _SEVERAL.search(group[0].text):
            return None
        if slot.type == "user" and group[0].text.islower() and group[0].text.endswith("s"):
            return None  # several of something, and nobody's name
        values[slot.name] = " ".join(item.text for item in group)
        rest.remove(group)
    return values


def _fits(slot: Slot, item: Item) -> bool:
    """Whether a find may stand in a slot; a folder may be called like a kind of files, such as `images`."""
    if item.kind == "path" and slot.type in ("file", "folder"):
        return ("." in item.text.rpartition("/")[2].lstrip(".")) is (slot.type == "file")
    named = slot.type == "folder" and item.kind == "kind" and item.end - item.start == len(item.text.split()[0])
    return named or item.kind in _KINDS.get(slot.type, ())


def _chosen(slot: Slot, fitting: Sequence[Item], alike: Sequence[Slot]) -> Item | None:
    """The find for a slot. Where several slots are of one type, the word before each tells which is which."""
    if len(alike) < 2:
        return fitting[0] if fitting else None
    linked = [item for item in fitting if item.link == slot.link]
    if linked and (len(linked) == 1 or len({each.link for each in alike}) == 1):
        return linked[0]
    others = {each.link for each in alike if each is not slot}
    free = [item for item in fitting if item.link not in others]
    return free[0] if free and not slot.link else None


def _written(slot: Slot, item: Item) -> str:
    if slot.type == "folder" and item.kind == "kind":
        return item.text.split()[0]
    if slot.type == "n":
        return _ONES.get(item.text.lower(), item.text)
    return item.text


def _groups(left: Sequence[Item], one: Said) -> list[list[Item]]:
    """Words that nothing explains, those together that stand side by side."""
    groups: list[list[Item]] = []
    for item in left:
        if groups and not one.text[groups[-1][-1].end : item.start].strip():
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _may_name(item: Item, slot: Slot) -> bool:
    """Whether a word may be somebody's name, or that of a room: it means nothing else in the house.

    A folder is often called by a common word, such as `config`; then `in` or the like stands before it.
    """
    word = item.text.lower()
    if any(key.startswith("=") for key in item.keys):
        return False
    if slot.type == "folder" and word in folders():
        return True
    if slot.type == "user" and (item.link in _WITHIN or word in _NOBODY):
        return False
    if slot.type in ("folder", "room") and item.link == "by":
        return False
    if slot.type in ("folder", "room") and slot.link in _PLACED and item.link not in _PLACED:
        return False
    placed = slot.type == "folder" and item.link in _PLACED
    return re.fullmatch(r"[a-z][\w.-]*", word) is not None and (placed or stem(word) not in knowledge.known_stems())
