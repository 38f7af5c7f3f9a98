"""What the guides show is typed and run beside a real server, in order, and prints what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import msgspec
import pytest
from console_blocks import ROOT, blocks, compare, steps, with_known_ids

from doorward.client import Client
from doorward.config.settings import Settings
from doorward_process import Doorward

PORT = "8642"
"""The port in the documents; the server here has another."""
PAGES = ("INTEGRATION", "KEEPER", "SECURITY", "TROUBLESHOOTING")
GUIDES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in PAGES}


class Served(NamedTuple):
    doorward: Doorward
    url: str
    token: str
    """A program's, for the room `general`: what `$TOKEN` stands for."""
    person: str

    def shown(self, text: str) -> str:
        """A text with this server's port as the documents have it."""
        return text.replace(str(httpx2.URL(self.url).port), PORT)

    def meant(self, text: str) -> str:
        """A text of the documents with this server's port."""
        return text.replace(PORT, str(httpx2.URL(self.url).port))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    doorward = Doorward(tmp_path_factory.mktemp("guides") / ".doorward")
    with doorward.up() as server:
        (doorward.home / "doorward.toml").write_text(f"[server]\nport = {server.port}\n")
        yield Served(
            doorward,
            f"http://{server.host}:{server.port}",
            _token(doorward, "helper", "--kind=service", "--room=general"),
            _token(doorward, "me", "--kind=human", "--access=root"),
        )


@pytest.mark.parametrize("guide", ["INTEGRATION", "KEEPER", "TROUBLESHOOTING"])
def test_every_command_of_a_guide_prints_what_it_shows(guide: str, served: Served) -> None:
    known: dict[str, str] = {}
    for step in steps(GUIDES[guide]):
        command = served.meant(with_known_ids(step.command, known))
        if command.startswith("curl "):
            printed = curl(shlex.split(command.replace("$TOKEN", served.token)))
        else:
            printed = served.doorward.on_terminal(command, step.answer).out
        difference = compare(step.expected, served.shown(_unfolded(step.expected, printed)), known)
        assert not difference, f"$ {step.command}\n{difference}"


@pytest.mark.parametrize("number", range(len(blocks(GUIDES["INTEGRATION"], "python"))))
def test_every_program_of_the_guide_runs(number: int, served: Served) -> None:
    program = blocks(GUIDES["INTEGRATION"], "python")[number]
    env = {**served.doorward.env, "DOORWARD_URL": served.url, "DOORWARD_TOKEN": served.token}
    ran = subprocess.run(
        [sys.executable, "-c", f"PERSON_TOKEN = {served.person!r}\n{program}"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.strip()


def test_the_program_of_the_readme_runs(served: Served) -> None:
    (program,) = blocks((ROOT / "README.md").read_text(), "python")
    person = Client(served.url, token=served.person)
    with person:
        person.create_room("lab", recipe="research-chat")
        token = person.create_token("reader", rooms=["lab"])["token"]
    ran = subprocess.run(
        [sys.executable, "-c", f"TOKEN = {token!r}\n{served.meant(program)}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "lab" in ran.stdout


def test_the_settings_of_the_security_guide_are_valid() -> None:
    (shown,) = blocks(GUIDES["SECURITY"], "toml")
    settings = msgspec.convert(tomllib.loads(shown), Settings)
    assert settings.sandbox.required
    assert settings.server.public_url == "https://doorward.example"


def test_every_setting_that_a_guide_names_exists() -> None:
    known = {name: set(getattr(Settings(), name).__struct_fields__) for name in Settings.__struct_fields__}
    named = {
        (table, field)
        for text in GUIDES.values()
        for table, field in re.findall(r"`(\w+)\.(\w+)(?: = \w+)?`", text)
        if table in known
    }
    assert len(named) > 8
    assert [f"{table}.{field}" for table, field in sorted(named) if field not in known[table]] == []


def test_every_operation_of_the_client_that_a_guide_names_exists() -> None:
    named = {name for text in GUIDES.values() for name in re.findall(r"`Client\.(\w+)`", text)}
    assert named
    assert [name for name in named if not hasattr(Client, name)] == []


def test_every_operation_of_the_client_is_in_the_guide() -> None:
    table = GUIDES["INTEGRATION"].partition("| what | operations |")[2].partition("\n\n")[0]
    operations = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    assert set(re.findall(r"`(\w+)`", table)) == operations


def test_every_client_that_connect_knows_is_in_the_guide(served: Served) -> None:
    listed = [line.split()[0] for line in served.doorward("connect").out.splitlines()]
    assert len(listed) >= 7
    assert [name for name in listed if f"`doorward connect {name}`" not in GUIDES["INTEGRATION"]] == []


def curl(words: list[str]) -> str:
    """What curl prints for the few options that the guides use, so that no curl is needed."""
    headers: dict[str, str] = {}
    url, body = "", None
    rest: Iterator[str] = iter(words[1:])
    for word in rest:
        if word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(rest)
        elif word != "-s":
            url = word
    answer = httpx2.request("GET" if body is None else "POST", url, headers=headers, content=body, trust_env=False)
    return answer.text


def _unfolded(expected: list[str], printed: str) -> str:
    """JSON is printed on one line, and a terminal folds it; both are compared as one."""
    return printed if len(expected) != 1 else " ".join(line.strip() for line in printed.splitlines())


def _token(doorward: Doorward, name: str, *options: str) -> str:
    made: dict[str, Any] = doorward("token", "create", name, *options).json
    return str(made["result"]["token"])


def test_examples_are_listed_and_exist() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    there = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert set(re.findall(r"\]\((\w+\.py)\)", page)) == there
