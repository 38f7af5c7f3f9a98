"""The functions and questions of the Berkeley Function-Calling Leaderboard, as commands to be searched.

They come in the package bfcl-eval (Apache-2.0), which `make bench` installs in an environment of its own; nothing of it
is part of Doorward. Whoever measures without it has no numbers of this kind.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from bench import upstream_peers
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Facts

PACKAGE = "bfcl-eval"
_VERSION = "BFCL_v4"
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
"""Every category in which one question is answered by functions that are written down."""
_NOT_A_NAME = re.compile(r"[^a-z0-9_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FACTS = Facts(
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=1,
    undo=READS_ONLY,
    examples=(),
)


class Question(NamedTuple):
    text: str
    wanted: frozenset[str]
    """The names of the commands that answer it."""


class Functions(NamedTuple):
    commands: list[Command]
    questions: list[Question]


class FunctionCommand(Command):
    """A function as it stands in the data: its words are of others."""

    ours = False

    def __init__(self, name: str, function: dict[str, Any]) -> None:
        properties = function["parameters"].get("properties", {})
        super().__init__(
            name,
            _FACTS,
            run=_nothing,
            summary=function["description"] or function["name"],
            description=function["description"],
            category="",
            schema={"type": "object", "properties": {key: _told(spec) for key, spec in properties.items()}},
            arguments={},
        )


async def _nothing(*_: object) -> None:
    """These commands are found and never run."""


def _told(spec: Any) -> dict[str, Any]:
    return {"description": str(spec.get("description", ""))} if isinstance(spec, dict) else {}


def installed() -> Path | None:
    """The folder with the data, or None."""
    found = list((upstream_peers.INSTALLED / PACKAGE).glob("lib/python*/site-packages/bfcl_eval/data"))
    return found[0] if found else None


def functions(data: Path) -> Functions:
    """All functions of all categories together, one for each name, and a question with its answers for each test."""
    commands: dict[str, Command] = {}
    questions: list[Question] = []
    for category in CATEGORIES:
        answers = {one["id"]: one["ground_truth"] for one in _lines(data / "possible_answer", category)}
        for test in _lines(data, category):
            for function in test["function"]:
                name = canonical(function["name"])
                if name not in commands:
                    commands[name] = FunctionCommand(name, function)
            said = [part["content"] for turn in test["question"] for part in turn if part["role"] == "user"]
            wanted = frozenset(canonical(name) for answer in answers[test["id"]] for name in answer)
            questions.append(Question(" ".join(said), wanted))
    return Functions(list(commands.values()), questions)


def canonical(name: str) -> str:
    """The name of a function as one of a command."""
    return _NOT_A_NAME.sub("_", _HUMP.sub("_", name).lower()).strip("_")


def _lines(folder: Path, category: str) -> list[Any]:
    text = (folder / f"{_VERSION}_{category}.json").read_text()
    return [strictjson.loads(line) for line in text.splitlines() if line.strip()]
