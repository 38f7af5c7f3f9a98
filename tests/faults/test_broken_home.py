"""A home folder that cannot be used: a clear sentence, no traceback, an exit code that is not 0, nothing lost."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import own_mounts
import pytest

import warm_doorward

DOORWARD = Path(sys.executable).with_name("doorward")
LIST = ("run", "data/list", "--collection=rooms")
VERIFY = ("audit", "verify")
UP = ("up", "--port", "0")


doorward = warm_doorward.completed


def complains(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, (done.args[1:], done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "defect" not in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in use, with a few records, closed in good order."""
    home = tmp_path_factory.mktemp("template") / "home"
    assert doorward(home, "init").returncode == 0
    assert doorward(home, *LIST).returncode == 0
    assert doorward(home, "rooms", "create", "den", "--recipe", "admin").returncode == 0
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "home"))


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_home_that_was_closed_is_one_whole_database_file(template: Path) -> None:
    """A copy of the file alone is a copy of everything."""
    assert sorted(file.name for file in template.glob("doorward.db*")) == ["doorward.db"]
    with contextlib.closing(sqlite3.connect(template / "doorward.db")) as db:
        assert db.execute("SELECT count(*) FROM ledger").fetchone()[0] == 3


@pytest.mark.parametrize("arguments", [("init",), LIST, UP, ("status",)], ids=" ".join)
def test_a_home_that_is_a_file(arguments: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("precious")
    complains(doorward(home, *arguments), 5, f"The home folder {home} cannot be created: File exists.", "DOORWARD_HOME")
    complains(doorward(home / "deeper", *arguments), 5, "Not a directory")
    assert home.read_text() == "precious"


def test_a_home_without_a_ledger_has_nothing_to_verify(tmp_path: Path) -> None:
    complains(doorward(tmp_path, *VERIFY), 5, "There is no ledger", "doorward init")
    assert list(tmp_path.iterdir()) == []


def _garbage(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def _text(file: Path) -> None:
    file.write_text("This is not a database.\n" * 400)


def _half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2 // 4_096 * 4_096)


def _odd_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2 + 77)


def _pages(file: Path) -> None:
    """All but the first page, which says what the others are."""
    size = file.stat().st_size
    with file.open("r+b") as out:
        out.seek(4_096)
        out.write(b"\xff" * (size - 4_096))


@pytest.mark.parametrize("spoil", [_garbage, _text, _half, _odd_half, _pages], ids=lambda spoil: spoil.__name__[1:])
def test_a_database_that_is_damaged(spoil: Callable[[Path], None], home: Path) -> None:
    spoil(home / "doorward.db")
    before = digest(home / "doorward.db")
    for arguments in (LIST, UP):
        complains(doorward(home, *arguments), 5, "doorward.db", "restore a backup")
    assert doorward(home, *VERIFY).returncode in (1, 5)
    complains(doorward(home, "audit", "tail"), 5, "doorward.db")
    complains(doorward(home, "audit", "export"), 5, "doorward.db")
    assert digest(home / "doorward.db") == before


@pytest.mark.parametrize("emptied", [True, False], ids=["emptied", "gone"])
def test_a_database_that_was_lost_is_not_quietly_replaced_by_a_new_one(emptied: bool, home: Path) -> None:
    if emptied:
        os.truncate(home / "doorward.db", 0)
    else:
        (home / "doorward.db").unlink()
    for arguments in (LIST, UP, LIST):
        complains(doorward(home, *arguments), 5, "ends at record 0", "records are missing", "Restore")


def test_a_database_that_was_replaced_by_an_older_copy_is_not_written_to(home: Path, tmp_path: Path) -> None:
    older = shutil.copy(home / "doorward.db", tmp_path / "older.db")
    assert doorward(home, *LIST).returncode == 0
    shutil.copy(older, home / "doorward.db")
    complains(doorward(home, *LIST), 5, "ends at record 3", "record 4 has a signed checkpoint")
    complains(doorward(home, *VERIFY), 1, "the ledger ends at record 3, but record 4 has a signed checkpoint")
    (home / "ledger" / "checkpoints.jsonl").unlink()
    assert doorward(home, *LIST).returncode == 0, "whoever accepts the loss may go on"
    complains(doorward(home, *VERIFY), 1, "3 checkpoints were signed, but the file has 1")


def test_a_home_from_a_newer_version(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "doorward.db")) as db:
        db.execute("PRAGMA user_version = 999")
    before = digest(home / "doorward.db")
    for arguments in (LIST, UP, ("init",)):
        complains(doorward(home, *arguments), 5, "newer Doorward (data version 999)", "Upgrade Doorward")
    assert digest(home / "doorward.db") == before


@contextlib.contextmanager
def _writing(home: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(home / "doorward.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(home / "doorward.db", isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("CREATE TABLE mine (x)")
        yield
        db.execute("ROLLBACK")


def _database_held(hold: Callable[[Path], contextlib.AbstractContextManager[None]], home: Path) -> None:
    with hold(home):
        done = doorward(home, *LIST)
        complains(done, done.returncode or -1, "locked", "Another program has the database open")
        assert done.returncode in (3, 5)
    assert doorward(home, *LIST).returncode == 0
    assert doorward(home, *VERIFY).returncode == 0


def _home_held(home: Path) -> None:
    with (home / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write("4242")
        lock.flush()
        complains(doorward(home, *UP), 3, "in use by process 4242")
        assert "already exists; nothing was changed" in doorward(home, "init").stdout


def test_a_database_that_another_program_holds_and_a_home_in_use_by_another_doorward(
    template: Path, tmp_path: Path
) -> None:
    """All at once, since each waits for some seconds before it complains."""
    cases = (functools.partial(_database_held, _writing), functools.partial(_database_held, _alone), _home_held)
    homes = [Path(shutil.copytree(template, tmp_path / f"home-{number}")) for number in range(len(cases))]
    with ThreadPoolExecutor(len(cases)) as pool:
        for held in [pool.submit(case, home) for case, home in zip(cases, homes, strict=True)]:
            held.result()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda key: key.unlink(), "is missing, but the database was signed with it"),
        (lambda key: key.write_bytes(b"short"), "is not 32 random bytes"),
        (lambda key: key.write_bytes(b""), "is not 32 random bytes"),
        (lambda key: key.write_bytes(b"\0" * 32), "is not 32 random bytes"),
        (lambda key: key.write_bytes(os.urandom(33)), "is not 32 random bytes"),
        (lambda key: key.chmod(0o644), "can be read by other accounts"),
        (lambda key: key.chmod(0o640), "can be read by other accounts"),
        (lambda key: (key.unlink(), key.mkdir(mode=0o700)), "cannot be read"),
        (lambda key: key.write_bytes(os.urandom(32)), "not signed with this server's secret"),
    ],
    ids=["lost", "short", "empty", "zeros", "long", "world", "group", "folder", "another"],
)
def test_a_secret_that_cannot_be_trusted(spoil: Callable[[Path], object], says: str, home: Path) -> None:
    spoil(home / "secret.key")
    before = digest(home / "doorward.db")
    complains(doorward(home, *LIST), 5, says)
    assert doorward(home, *VERIFY).returncode in (1, 5)
    assert digest(home / "doorward.db") == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[server\nport = 1", "line 1"),
        (b"[sever]\nport = 1", "the table [sever] is unknown; did you mean 'server'?"),
        (b"[server]\nprot = 1", "the setting server.prot is unknown; did you mean 'port'?"),
        (b"[server]\nport = 'x'", "server.port must be a whole number from 0 to 65,535; given 'x'."),
        (b"[server]\nport = 65536", "given 65536."),
        (b"[energy]\nstart = nan", "energy.start must be a number from"),
        (b"[limits]\nrunning = 0", "limits.running must be a whole number from 1 to"),
        (b"[limits]\nrunning = 1\nrunning = 2", "Cannot overwrite a value"),
        (b"\xff\xfe", "can't decode byte"),
        (b"a = " + b"[" * 10_000, "not valid"),
        (b"a = " + b"9" * 5_000, "not valid"),
        (b"\0", "not valid"),
    ],
    ids=lambda part: part.decode("latin-1")[:20].encode("unicode_escape").decode() if isinstance(part, bytes) else "",
)
def test_settings_that_are_not_valid(text: bytes, says: str, home: Path) -> None:
    (home / "doorward.toml").write_bytes(text)
    complains(doorward(home, *LIST), 5, f"The settings file {home / 'doorward.toml'} is not valid", says)
    assert (home / "doorward.toml").read_bytes() == text


@pytest.mark.parametrize("name", ["doorward.toml", "lock"])
def test_a_folder_in_the_place_of_a_file(name: str, home: Path) -> None:
    (home / name).unlink(missing_ok=True)
    (home / name).mkdir()
    complains(doorward(home, *LIST), 5, name, "Is a directory")


@pytest.mark.parametrize("name", ["recipes", "logs", "workspace"])
def test_a_file_in_the_place_of_a_folder(name: str, home: Path) -> None:
    shutil.rmtree(home / name)
    (home / name).write_text("precious")
    done = doorward(home, *LIST)
    complains(done, done.returncode or -1, name, "File exists")
    assert done.returncode in (3, 5)
    assert (home / name).read_text() == "precious"


def test_a_dead_servers_socket_is_no_hindrance(home: Path) -> None:
    (home / "doorward.sock").write_text("left behind")
    assert doorward(home, *LIST).returncode == 0


@pytest.mark.parametrize(
    "name",
    ["my höme ☂ with blanks", "a'b\"c;d&e|f$(g)", "per%20cent#hash?query=1", "d/" * 60 + "deep", "-rf", "new\nline"],
)
def test_a_home_with_an_unusual_path_works(name: str, tmp_path: Path) -> None:
    home = tmp_path / name
    made = doorward(home, "init")
    assert made.returncode == 0, made.stderr
    listed = doorward(home, *LIST)
    assert json.loads(listed.stdout)["result"]["items"][0]["id"] == "general"
    assert doorward(home, *VERIFY).returncode == 0
    assert (home / "doorward.db").exists()


@pytest.mark.parametrize("arguments", [("init",), LIST, VERIFY, UP], ids=" ".join)
def test_a_home_whose_path_is_no_text(arguments: tuple[str, ...], tmp_path: Path) -> None:
    home = os.fsencode(tmp_path) + b"/h\xff\xfeme"
    complains(doorward(home, *arguments), 5, "not UTF-8 text")
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_disk(tmp_path: Path, template: Path) -> None:
    own_mounts.run(Path(__file__).with_name("read_only_disk.py"), tmp_path / "disk", template)
