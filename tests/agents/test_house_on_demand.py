"""The house model is large, and most processes never ask it: nobody outside it loads it before it is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import doorward

_ROOT = Path(doorward.__file__).parent
_HOUSE = "doorward.agents.house"
_EXAMINED = _ROOT / "bench"
"""Which loads everything that it measures."""


def _loaded_at_once(body: list[ast.stmt]) -> Iterator[str]:
    """The modules that a module imports when it is itself imported; what only a type checker reads is not."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield f"{node.module}.{node.names[0].name}"
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from _loaded_at_once([*node.body, *node.orelse])


def test_no_module_outside_the_house_model_loads_it_at_once() -> None:
    named = [
        file
        for file in _ROOT.rglob("*.py")
        if not {_ROOT / "agents" / "house", _EXAMINED}.intersection(file.parents) and _HOUSE in file.read_text()
    ]
    assert named, "somebody asks it"
    loads = [file.name for file in named for one in _loaded_at_once(ast.parse(file.read_text()).body) if _HOUSE in one]
    assert loads == []
