"""The house model passes its examination: every request in one of its wordings, in one seeded house."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from bench.questions import figures
from bench.questions.__main__ import shown
from bench.questions.asking import Result, examine
from bench.questions.facts import Size
from bench.questions.question import asked, held_out

pytestmark = pytest.mark.anyio

ENOUGH = 90.0


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Questions take turns with their wordings; `python -m bench.questions` asks every one in all of them."""
    turns = [msgspec.structs.replace(one, says=[one.says[turn % 2]]) for turn, one in enumerate(asked())]
    return await examine(tmp_path_factory.mktemp("house") / "home", turns)


async def test_nine_in_ten_are_right(result: Result) -> None:
    wrong = [shown(one) for one in result.verdicts if one.faults]
    assert result.share >= ENOUGH, f"{result.share:.1f} % are right; wrong are\n" + "\n".join(wrong)


async def test_nothing_is_changed_that_nobody_asked_for(result: Result) -> None:
    assert [shown(one) for one in result.verdicts if one.harm] == []


async def test_no_topic_is_failed_as_a_whole(result: Result) -> None:
    every = Counter(one.seen.question.topic for one in result.verdicts)
    right = Counter(one.seen.question.topic for one in result.verdicts if not one.faults)
    assert [topic for topic, count in every.items() if right[topic] * 2 < count] == []


def test_there_are_enough_questions_each_with_wordings_of_its_own() -> None:
    questions = asked()
    words = [words.lower() for one in questions for words in one.says]
    assert len(questions) >= 130
    assert all(len(one.says) == 2 for one in questions)
    assert len(set(words)) == len(words)
    assert sum(one.unknown or one.still for one in questions) >= 20
    assert {words for one in held_out() for words in one.says}.isdisjoint(words)


@pytest.mark.parametrize(
    ("figure", "answer", "said"),
    [
        ("$n", "There are 42 orders.", True),
        ("$n", "There are 142 orders, the first of 2026-11-42.", False),
        ("$big", "It is 64,415.88 in all.", True),
        ("$big", "It is 64415.9 in all.", True),
        ("$big", "It is 64415 in all.", False),
        ("$none", "There is nothing.", True),
        ("$none", "There are 10.", False),
        ("$names", "Found app.py and src/tax.py.", True),
        ("$names", "Found app.py and syntax.py.", False),
        ("$size", "photo.jpg has 2.4 MB.", True),
        ("$size", "photo.jpg has 2400004 bytes.", True),
        ("$size", "photo.jpg has 2.4 KB.", False),
        ("yes|it is", "It is there.", True),
        ("$n|$names", "There are forty-two of them: app.py, tax.py.", True),
        ("$few", "There are three.", True),
    ],
)
def test_a_figure_is_found_in_whatever_words_it_stands(figure: str, answer: str, said: bool) -> None:
    facts = {"n": 42, "big": 64_415.88, "none": 0, "names": ["app.py", "tax.py"], "size": Size(2_400_004), "few": 3}
    assert (figures.missing(figure, facts, answer) == "") is said
