"""A scripted coding agent works on real projects: ten rounds of edit and test, then one review by a person."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from doorward.sandbox import view
from virtual_environment import make_environment

pytestmark = pytest.mark.anyio


class Project(NamedTuple):
    files: dict[str, str]
    source: str
    """The file that the agent changes. `@` in it is the number that the test expects."""
    test: str
    """The script that tests it."""


PYTHON = Project(
    {
        ".gitignore": ".venv/\n__pycache__/\n.pytest_cache/\n",
        "app.py": "def answer() -> int:\n    return @\n",
        "test_app.py": "from app import answer\n\n"
        "def test_answer():\n    assert answer() == int(open('wanted').read())\n",
    },
    "app.py",
    "PYTHONDONTWRITEBYTECODE=1 .venv/bin/pytest -q",
)
TYPESCRIPT = Project(
    {
        ".gitignore": "node_modules/\ndist/\n",
        "package.json": json.dumps({"scripts": {"test": "mkdir -p dist && node_modules/.bin/tsc && node --test dist"}}),
        "tsconfig.json": json.dumps(
            {
                "compilerOptions": {
                    "outDir": "dist",
                    "module": "commonjs",
                    "types": [],
                    "lib": ["es5"],
                    "skipLibCheck": True,
                }
            }
        ),
        "app.ts": "export const answer: number = @;\n",
        "app.test.ts": "declare const require: any;\nimport { answer } from './app';\n"
        "require('node:test')('answers', () => "
        "require('node:assert').equal(answer, Number(require('node:fs').readFileSync('wanted', 'utf8'))));\n",
    },
    "app.ts",
    "npm test --silent",
)
C = Project(
    {
        ".gitignore": "/app\n",
        "Makefile": "test: app\n\t./app\napp: app.c\n\t$(CC) -o app app.c\n",
        "app.c": "#include <stdio.h>\nstatic const int answer = @;\n\n"
        'int main(void) {\n  int wanted;\n  FILE *file = fopen("wanted", "r");\n'
        '  if (!file || fscanf(file, "%d", &wanted) != 1) return 2;\n  return answer == wanted ? 0 : 1;\n}\n',
    },
    "app.c",
    "make test",
)
ROUNDS = 10


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder outside /tmp, of which every sandbox has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="doorward-project-") as made:
        yield Path(made)


def install_tools(project: Project, folder: Path) -> None:
    """Install what a person would have installed, in the places that .gitignore names."""
    if project is PYTHON:
        make_environment(folder, view.find_python()[0])
    if project is TYPESCRIPT:
        (folder / "node_modules/.bin").mkdir(parents=True)
        shutil.copytree(Path(sys.prefix, "node/node_modules/typescript"), folder / "node_modules/typescript")
        (folder / "node_modules/.bin/tsc").symlink_to("../typescript/bin/tsc")


@pytest.mark.parametrize("project", [PYTHON, TYPESCRIPT, C], ids=["python", "typescript", "c"])
async def test_ten_rounds_of_edit_and_test_need_one_decision_of_a_person(driver, folder, project):
    for name, text in project.files.items():
        (folder / name).write_text(text.replace("@", "0"))
    install_tools(project, folder)
    before = {name: (folder / name).read_text() for name in project.files}
    await driver.owner("room/create", name="app", recipe="coding", workspace=str(folder))

    async def agent(command, /, **params):
        return await driver.ask(command, by="claude", room="app", params=params)

    for number in range(1, ROUNDS + 1):
        old, new = (project.files[project.source].replace("@", str(n)) for n in (number - 1, number))
        wrote = await agent("file/write", path="wanted", content=f"{number}\n")
        assert wrote.status == "done", wrote
        failed = await agent("bash", command=project.test)
        assert failed.code == "command_failed", failed
        edited = await agent("file/edit", path=project.source, oldString=old, newString=new)
        assert edited.status == "done", edited
        passed = await agent("bash", command=project.test)
        assert passed.status == "done", passed.result
        assert {name: (folder / name).read_text() for name in project.files} == before
        driver.clock.advance(5)
    parked = await agent("draft/submit", message="Answer what is wanted")
    assert parked.status == "parked", parked
    waiting = (await driver.owner("approval/list")).result["items"]
    assert [one["command"] for one in waiting] == ["draft/submit"]
    await driver.owner("approval/approve", id=parked.ticket)
    merged = await driver.ask("draft/submit", by="claude", room="app", ticket=parked.ticket)
    assert merged.status == "done", merged
    changed = project.files[project.source].replace("@", str(ROUNDS))
    assert {name: (folder / name).read_text() for name in project.files} == {**before, project.source: changed}
    kept = {".venv", "node_modules"} & {path.name for path in folder.iterdir()}
    assert {path.name for path in folder.iterdir()} == {*project.files, "wanted"} | kept
