"""The ways in which models write calls, each with what it is read as; the corpus beside this file is the list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from doorward.agents.calls.answer_parser import parse

CORPUS = [
    (file.stem, entry)
    for file in sorted(Path(__file__).with_name("corpus").glob("*.json"))
    for entry in json.loads(file.read_text())
]


@pytest.mark.parametrize("entry", [pytest.param(entry, id=f"{name}: {entry['about']}") for name, entry in CORPUS])
def test_an_answer_is_read_as_it_was_meant(entry: dict[str, Any]) -> None:
    reading = parse(entry["text"])
    found = [
        [one.name, dict(one.params) if one.params is not None else [list(pair) for pair in one.args or ()]]
        for one in reading.calls
    ]
    assert (found, len(reading.faults)) == (entry["calls"], entry["faults"]), reading
    if "prose" in entry:
        assert reading.prose == entry["prose"]
    elif not entry["calls"] and not entry["faults"]:
        assert reading.prose == entry["text"].strip(), "what is no call stays as it is"
    assert all(sentence.endswith(".") and len(sentence) < 700 for sentence in reading.faults)


def test_the_corpus_holds_at_least_170_ways_and_none_twice() -> None:
    texts = [entry["text"] for _, entry in CORPUS]
    assert len(texts) == len(set(texts)) >= 170


PAGE = Path(__file__).parents[3].joinpath("docs", "CALLS.md").read_text()
EXAMPLES = [
    (section.partition("\n")[0], example)
    for section in PAGE.split("\n## ")[1:]
    for example in re.findall(r"^````text\n(.*?)\n````$", section, re.DOTALL | re.MULTILINE)
]


@pytest.mark.parametrize(("section", "example"), EXAMPLES)
def test_every_example_of_the_page_is_read_as_its_section_says(section: str, example: str) -> None:
    reading = parse(example)
    found = (bool(reading.calls), bool(reading.faults))
    assert (
        found
        == {
            "What is a call": (True, False),
            "What is no call": (False, False),
            "What cannot be read": (False, True),
        }[section]
    )
