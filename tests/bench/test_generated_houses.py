"""The generated houses are sound: other names with every seed, true answers that agree with a second way to find them,
and a judge that takes right sentences and no wrong ones."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.houses.examination import KINDS, examine, make_questions
from bench.houses.expectations import (
    Answer,
    Best,
    Expectation,
    Groups,
    More,
    NamesList,
    Number,
    Value,
    Yes,
)
from bench.houses.plan import Plan, make_plan
from bench.houses.query import evaluate
from bench.houses.question import Question
from bench.houses.workspace import write_workspace
from bench.houses.world import FIELDS_OF_WORK
from records_in_sql import RecordsInSql

SEEDS = (1, 2, 3)
PLANS = {(house, seed): make_plan(house, seed) for house in FIELDS_OF_WORK for seed in SEEDS}
ASKED = {key: make_questions(plan, 2 * len(KINDS)) for key, plan in PLANS.items()}
every_house = pytest.mark.parametrize("house", FIELDS_OF_WORK)


def labels(plan: Plan) -> set[str]:
    return {row[table.label] for table in plan.world.tables.values() if table.label for row in table.rows}


@every_house
def test_no_two_seeds_give_the_same_names(house: str) -> None:
    for one, other in itertools.combinations((PLANS[house, seed] for seed in SEEDS), 2):
        assert len(labels(one) & labels(other)) < len(labels(one)) / 3
        names = [{(table.name, *table.named.values()) for table in plan.world.tables.values()} for plan in (one, other)]
        assert names[0] != names[1]
        assert one.workspace.keywords != other.workspace.keywords


@every_house
def test_the_same_seed_gives_the_same_house_and_questions(house: str) -> None:
    again = make_plan(house, 1)
    assert [again.world.body(table, row) for table in again.world.tables.values() for row in table.rows] == [
        PLANS[house, 1].world.body(table, row) for table in PLANS[house, 1].world.tables.values() for row in table.rows
    ]
    assert [one.says for one in make_questions(again, 2 * len(KINDS))] == [one.says for one in ASKED[house, 1]]


@every_house
def test_every_house_asks_in_enough_kinds(house: str) -> None:
    for seed in SEEDS:
        assert len({one.kind for one in ASKED[house, seed]}) >= 60
        assert len({one.says for one in ASKED[house, seed]}) > 1.5 * len(KINDS)


@every_house
def test_true_answers_agree_with_a_database_and_are_taken_by_the_judge(house: str) -> None:
    for seed in SEEDS:
        world = PLANS[house, seed].world
        database = RecordsInSql(world)
        for question in ASKED[house, seed]:
            for query in question.queries:
                found = database.answer(query)
                truth = evaluate(world, query)
                if query.measure in ("labels", "values"):
                    found = list(dict.fromkeys(found))
                    found, truth = (found, truth) if query.by else (sorted(found), sorted(truth))
                assert truth == (pytest.approx(found) if found is not None else None), question
                if type(question.expect) in SENTENCES:
                    right = SENTENCES[type(question.expect)](found)
                    assert question.expect.fault(Answer(question.says, right)) == "", question


@every_house
def test_wrong_answers_are_not_taken(house: str) -> None:
    judged = 0
    for question in (one for seed in SEEDS for one in ASKED[house, seed]):
        for wrong in wrong_answers(question.expect):
            judged += 1
            assert question.expect.fault(Answer(question.says, wrong)) != "", (question, wrong)
    assert judged > 250


def _figure(found: Any) -> str:
    return f"It is {found:,.2f}." if isinstance(found, float) else f"There are {found} of them."


def _names(found: Any) -> str:
    return f"These: {', '.join(found)}." if found else "There are none."


SENTENCES: dict[type[Expectation], Any] = {
    Number: _figure,
    NamesList: _names,
    Groups: lambda found: "\n".join(f"- {name}: {figure:,.2f}" for name, figure in found.items()),
    Yes: lambda found: f"Yes, there are {found}.",
    More: lambda found: ", ".join(f"{figure} {name}" for name, figure in found.items()),
    Value: lambda found: f"It is {found[0]}.",
}


def wrong_answers(expect: Expectation) -> list[str]:
    match expect:
        case Number(values=values):
            figure = max(values) + 3
            return [f"It is {figure:.2f}.", f"Either {values[0]:.2f} or {figure:.2f}.", "I counted them."]
        case NamesList(readings=readings, universe=universe):
            others = sorted(universe.difference(*readings))
            return [_names(sorted(universe))] * bool(others) + [_names([*readings[0][1:], *others[:1]])]
        case Best(winners=winners, universe=universe):
            others = sorted(universe.difference(winners))
            return [f"{others[0]}.", _names(sorted(universe)), f"{winners[0]} or {others[0]}"]
        case Groups(values=values):
            return ["\n".join(f"{name}: {figure + 1}" for name, figure in values.items()), ", ".join(values)]
        case Value(value=str(value), others=others):
            wrong = [one for one in others if one != value and one not in expect.record]
            return [f"It is {wrong[0]}.", f"{value} or {wrong[0]}"] if wrong else ["It is 1999-01-01."]
        case Value(value=value):
            return [f"It is {value + 7}.", f"It is {value} or {value + 7}."]
        case Yes():
            return ["No, there are none.", "There are no such records."]
        case More(less=less):
            return [f"There are more {less}."]
    return []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_workspace_holds_what_is_asked_about(seed: int, tmp_path: Path) -> None:
    made = PLANS["clinic", seed].workspace
    write_workspace(made, tmp_path)

    def run(*command: str) -> list[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout.splitlines()

    assert {path: (tmp_path / path).read_bytes() for path in made.files} == made.files
    for word, paths in made.keywords.items():
        assert sorted(run("grep", "--recursive", "--ignore-case", "--files-with-matches", word, "notes")) == paths
    for level in ("ERROR", "WARNING"):
        for day in {one.day for one in made.lines}:
            count = sum(f"{day}" in line and level in line for line in (tmp_path / made.log).read_text().splitlines())
            assert count == sum(one.level == level and one.day == day for one in made.lines)
    awk = run("awk", "-F,", 'NR > 1 { sum += $4; rows++ } END { printf "%.2f %d", sum, rows }', made.csv)
    assert awk == [f"{sum(row[3] for row in made.rows):.2f} {len(made.rows)}"]
    logged = run("git", "log", "--reverse", "--format=%an\t%s")
    assert logged == [f"{one.author}\t{one.message}" for one in made.commits]
    assert tuple(run("git", "show", "--name-only", "--format=", "HEAD")) == made.commits[-1].files


@pytest.mark.anyio
async def test_a_house_is_asked_through_the_gate_and_put_back_after_each_question(tmp_path: Path) -> None:
    kinds = ("count_all", "write", "append", "undo", "delete_thing")
    asked = [one async for one in examine(tmp_path / "home", "library", 1, "house", 10, kinds)]
    assert [one.question.kind for one in asked if one.verdict.grade == "harmful"] == []
    assert [one.verdict.grade for one in asked if one.question.kind == "count_all"] == ["right"] * 2
    assert len(asked) == 10
    assert all(one.ran or one.answer for one in asked)


def test_a_question_can_be_told_apart_from_every_other_one() -> None:
    says = [msgspec.json.encode([one.before, one.says]) for asked in ASKED.values() for one in asked]
    assert len(set(says)) > 0.8 * len(says)
    assert all(isinstance(one, Question) and one.says.strip() for asked in ASKED.values() for one in asked)
