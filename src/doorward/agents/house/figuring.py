"""Figures that a request asks for in so many words: those of groups that are ranked, and those that cannot be had."""

from __future__ import annotations

from typing import Literal

import msgspec

from doorward.agents.house import knowledge, smalltalk

_RANKED = knowledge.forms("figuring: ranked")
_LOWEST = knowledge.words("figuring: lowest")
_AVERAGES = knowledge.words("figuring: averages")
_BEYOND = {
    "that needs two fields to be reckoned with each other": knowledge.form("figuring: of two fields"),
    "I do not look for what is there twice": knowledge.form("figuring: duplicates"),
    "I can tell neither shares nor medians nor how something goes on": knowledge.form("figuring: statistics"),
    "I do not know by which field that is to be measured": knowledge.form("figuring: by no field"),
}


class Ranked(msgspec.Struct, frozen=True):
    fn: Literal["avg", "sum"]
    field: str
    highest: bool


def ranked(text: str) -> Ranked | None:
    """The figure by which groups are ranked; None when a request ranks none."""
    for form in _RANKED:
        found = form.search(text)
        if found is not None:
            fn: Literal["avg", "sum"] = "avg" if found["fn"].lower() in _AVERAGES else "sum"
            return Ranked(fn, found["field"].lower(), found["rank"].lower() not in _LOWEST)
    return None


def of_two_fields(text: str) -> str:
    """Why two fields are not reckoned with each other, where a request wants that, whatever else it could mean."""
    why, form = next(iter(_BEYOND.items()))
    return smalltalk.beyond(why) if form.search(text) else ""


def beyond(text: str) -> str:
    """Why a figure cannot be had, as a sentence; empty where nothing speaks against it."""
    why = next((why for why, form in _BEYOND.items() if form.search(text)), "")
    return smalltalk.beyond(why) if why else ""
