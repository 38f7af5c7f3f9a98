"""A program is found where its owner would find it, and can be read with what it is made of and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kept_place import Place, opened_place, own_place

from doorward.core.errors import CommandFailed
from doorward.sandbox.grants import Grants
from doorward.sandbox.program_lookup import ProgramLocation, find_program

SCRIPT = "#!/bin/sh\necho ran\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of somebody who runs Doorward, whose own folder lies in it."""
    home = tmp_path / "person"
    (home / ".doorward").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def made(path: Path, text: str = SCRIPT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def looked_up(person: Path, name: str, path: str = "") -> tuple[ProgramLocation, list[str]]:
    with Grants("server", person / ".doorward") as grants:
        found = find_program(name, path, grants)
        return found, sorted({str(Path(grant.at).relative_to(person.parent)) for grant in grants.items})


def test_a_program_of_the_system_needs_nothing_more(person: Path) -> None:
    found, readable = looked_up(person, "cat")
    assert found.program.endswith("/cat")
    assert readable == []


def test_the_folder_above_bin_is_read_with_it(person: Path) -> None:
    program = made(person.parent / "opt" / "tool" / "bin" / "tool")
    found, readable = looked_up(person, "tool", str(program.parent))
    assert (found.program, found.path.split(":")[0]) == (str(program), str(program.parent))
    assert readable == ["opt/tool"]
    assert looked_up(person, str(program)) == (
        ProgramLocation(str(program), f"{program.parent}:/bin:/usr/local/bin:/usr/bin"),
        readable,
    )


def test_where_a_symlink_leads_is_read_too(person: Path) -> None:
    real = made(person.parent / "opt" / "tool-1.2" / "libexec" / "tool.sh")
    link = person.parent / "links" / "bin" / "tool"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    found, readable = looked_up(person, str(link))
    assert found.program == str(link)
    assert readable == ["links", "opt/tool-1.2/libexec"]


def test_a_package_of_node_is_read_with_those_that_it_needs(person: Path) -> None:
    packages = person / "project" / "node_modules"
    real = made(packages / "@some" / "server" / "dist" / "index.js", "#!/usr/bin/env node\n")
    (packages / ".bin").mkdir()
    (packages / ".bin" / "server").symlink_to(real)
    made(person / "project" / "private")
    found = packages / ".bin" / "server"
    with Grants("server", person / ".doorward") as grants:
        find_program(str(found), "", grants)
        mine = {grant.at for grant in grants.items if grant.at.startswith(str(person))}
    assert mine == {str(packages)}


NAMED = {
    "by its path": "#!{interpreter} -x\n",
    "by its name, beside the script": "#!/usr/bin/env interpreter\n",
    "with options of env": "#!/usr/bin/env -S A=1 interpreter --flag\n",
    "in the second line": "#!/bin/sh\n'''exec' {interpreter} \"$0\" \"$@\"\n' '''\n",
    "in the second line, with quotes": "#!/bin/sh\n'''exec' \"{interpreter}\" \"$0\" \"$@\"\n' '''\n",
}


@pytest.mark.parametrize("how", NAMED)
def test_the_interpreter_of_a_script_is_read_with_its_installation(how: str, person: Path) -> None:
    interpreter = made(person.parent / "runtime" / "bin" / "interpreter")
    text = NAMED[how].format(interpreter=interpreter)
    script = made(person.parent / "opt" / "tool" / "bin" / "tool", text)
    if "env" in text:
        (script.parent / "interpreter").symlink_to(interpreter)
    found, readable = looked_up(person, str(script))
    assert readable == ["opt/tool", "runtime"]
    assert str(script.parent) in found.path.split(":")


IN_A_HOME_FOLDER = {
    "bin": ["person/bin"],
    ".local/bin": ["person/.local/bin", "person/.local/lib"],
    "projects/tool": ["person/projects/tool"],
    "projects/tool/.venv/bin": ["person/projects/tool/.venv"],
    "": ["person/tool"],
}


@pytest.mark.parametrize("folder", IN_A_HOME_FOLDER)
def test_of_a_home_folder_only_the_programs_part_is_read(folder: str, person: Path) -> None:
    for private in (".local/share/keys", ".ssh/key", "letters/one"):
        made(person / private)
    made(person / ".local" / "lib" / "library")
    program = made(person / folder / "tool")
    assert looked_up(person, str(program))[1] == IN_A_HOME_FOLDER[folder]


def test_beside_the_folder_of_the_house_only_the_program_itself_is_read(person: Path) -> None:
    program = made(person / ".doorward" / ".." / "house" / "bin" / "tool").resolve()
    (person / "house" / "home").mkdir()
    with Grants("server", person / "house" / "bin" / "home") as grants:
        (person / "house" / "bin" / "home").mkdir()
        find_program(str(program), "", grants)
        assert [grant.at for grant in grants.items] == [str(program)]


def test_a_program_in_the_folder_of_the_house_is_not_run(person: Path) -> None:
    program = made(person / ".doorward" / "bin" / "tool")
    with pytest.raises(CommandFailed, match="it is not visible inside the sandbox"):
        looked_up(person, str(program))


WRONG = {
    "tool-that-is-nowhere": "The program 'tool-that-is-nowhere' was not found; looked in /usr/bin, /bin.",
    "/usr/bin/nothing": "The program /usr/bin/nothing does not exist.",
    "/etc/passwd": "The program /etc/passwd is not executable.",
    "./tool": "The command './tool' is a relative path; valid: a program name or an absolute path.",
    "": "The command is empty; valid: a program name or an absolute path.",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_found_is_said_with_where_it_was_looked_for(name: str, person: Path) -> None:
    with pytest.raises(CommandFailed) as refused:
        looked_up(person, name, "/usr/bin:/bin:relative::.")
    assert str(refused.value) == WRONG[name]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    with own_place() as folder:
        async with opened_place(folder) as place:
            yield place


@pytest.mark.anyio
async def test_what_is_installed_in_a_virtual_environment_runs(place: Place) -> None:
    """A script of this very environment: its interpreter is a symlink to another installation."""
    said = await place.said(os.path.join(sys.prefix, "bin", "mypy"), "--version")
    assert said.startswith("mypy ")


@pytest.mark.anyio
async def test_a_program_that_starts_its_neighbour_finds_it(place: Place) -> None:
    bin_folder = place.folder / "tool" / "bin"
    made(bin_folder / "first", "#!/usr/bin/env bash\nsecond $1\n")
    made(bin_folder / "second", "#!/bin/sh\necho second $1\n")
    (place.folder / "tool" / "data").write_text("data")
    environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    assert await place.said("first", "here", environment=environment) == "second here\n"


@pytest.mark.anyio
async def test_what_the_shell_finds_first_is_what_runs(place: Place) -> None:
    """Whatever `python3` is for whoever runs Doorward, be it a link, a script or a program of the system."""
    code = "import sys; print(sys.version_info[:2])"
    assert await place.said("python3", "-c", code) == outside("python3", "-c", code)


def outside(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
