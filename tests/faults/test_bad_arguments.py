"""Whatever is typed behind `doorward`: a clear sentence, an exit code that is not 0, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from raw_server import Server

import warm_doorward

BAD_ARGUMENTS: list[tuple[tuple[str | bytes, ...], int, str]] = [
    (("run", "no/such"), 3, "Unknown command 'no/such'. The nearest commands you may run: "),
    (("run", "data/list", "--nope=1"), 3, "Unknown parameter 'nope'. data/list takes collection,"),
    (("run", "data/list", "--collection=rooms", "--approved=true"), 3, "Unknown parameter 'approved'"),
    (("run", "data/list", "--collection=rooms", "--limit=x"), 3, "parameter limit must be of type integer"),
    (("run", "data/list", "--collection=rooms", "--limit=NaN"), 3, "given 'NaN'"),
    (("run", "data/list", "--collection=rooms", "--limit=1e999"), 3, "given '1e999'"),
    (("run", "data/list", "--collection=rooms", "--limit=-1"), 3, "parameter limit must be at least 1; given -1"),
    (("run", "data/list", "--collection=rooms", "--limit=1.5"), 3, "given 1.5"),
    (("run", "data/list", "--collection=rooms", "--filter=" + "[" * 1_000 + "]" * 1_000), 3, "nests too deeply"),
    (("run", "data/list", "--collection=rooms", '--filter={"a":1,"a":2}'), 3, "the key 'a' appears twice"),
    (("run", "data/list", "--collection=rooms", '--filter={"a":Infinity}'), 3, "Infinity is not a JSON number"),
    (("run", "data/list", "--collection=rooms", '--filter={"name":"\\u0000"}'), 1, "NUL"),
    (("run", "data/list", "--collection=rooms", "--filter=" + "x" * 120_000), 3, "(120000 characters)"),
    (("run", "data/list", "--collection=rooms", "--collection=rooms"), 3, "'collection' is given twice"),
    (("run", "data/list", "rooms"), 3, "Write parameters as --key=value; given: 'rooms'"),
    (("run", "data/list", "--=x"), 3, "Unknown parameter ''"),
    (("run",), 2, "Name a command"),
    (("run", "--nosuch"), 2, "No such option"),
    (("nosuch",), 2, "No such command 'nosuch'"),
    (("data", "list", "rooms", "--filter", "NaN"), 2, "NaN is not a JSON number"),
    (("up", "--port", "70000"), 2, "not in the range"),
    (("audit", "show", "nothing"), 3, "There is no record 'nothing'"),
    (("run", b"\xff/\xfe"), 3, ""),
    (("run", "file/read", b"--path=\xff"), 3, "not UTF-8 text"),
    (("run", "file/read", b"--\xff=1"), 3, "not UTF-8 text"),
    (("run", "--room", b"\xff", "data/list", "--collection=rooms"), 3, "not UTF-8 text"),
    (("run", "--as", b"\xff", "data/list", "--collection=rooms"), 3, ""),
    (("run", b"--ticket=\xff"), 3, "not UTF-8 text"),
    (("run", b"--token=\xff", "data/list"), 3, ""),
    (("explain", b"\xff"), 3, ""),
    (("audit", "show", b"\xff"), 3, "There is no record"),
    (("data", "list", "rooms", "--filter", b'{"a":"\xff"}'), 2, "lone surrogate"),
    (("token", "create", b"\xff"), 3, "not UTF-8 text"),
    (("recipe", "show", b"\xff"), 3, "not UTF-8 text"),
    ((b"\xff",), 2, "No such command"),
]


@pytest.mark.parametrize(("arguments", "code", "says"), BAD_ARGUMENTS, ids=lambda part: ascii(part)[:60])
def test_arguments_that_make_no_sense_with_a_server(
    arguments: tuple[str | bytes, ...], code: int, says: str, server: Server
) -> None:
    _complains(server.run(*arguments), code, says)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("alone") / "home"


@pytest.mark.parametrize(
    ("arguments", "code", "says"), [one for one in BAD_ARGUMENTS if any(isinstance(arg, bytes) for arg in one[0])][:-1]
)
def test_arguments_that_are_no_text_without_a_server(
    arguments: tuple[str | bytes, ...], code: int, says: str, alone: Path
) -> None:
    _complains(warm_doorward.completed(alone, *arguments), code, says)


def test_a_recipe_file_of_twenty_megabytes(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "big.json"
    file.write_bytes(b'{"recipeId": "' + b"x" * 20_000_000 + b'"}')
    _complains(server.run("recipe", "put", str(file)), 3, "must have at most 1000000 characters")
    _complains(server.run("recipe", "check", str(file)), 5, "the JSON text has 20000016 bytes; the limit is 1000000")


def _complains(done: subprocess.CompletedProcess[str], code: int, says: str) -> None:
    assert done.returncode == code, (done.stdout, done.stderr)
    assert says in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "defect" not in done.stderr
    assert 10 < len(done.stderr) < 2_000
