from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doorward.config.home import KEY_BYTES, Home, HomeLock, short_path
from doorward.config.settings import FileSettings, SandboxSettings, Settings
from doorward.core.errors import Unusable


@pytest.fixture
def made(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def test_a_home_is_for_its_owner_only(made: Home) -> None:
    made.load_key()
    for path in (made.path, made.recipes, made.path / "secret.key"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_making_a_home_again_changes_nothing(made: Home) -> None:
    key = made.load_key()
    (made.recipes / "mine.json").write_text("{}")
    made.create()
    assert made.load_key() == key
    assert (made.recipes / "mine.json").read_text() == "{}"


def test_every_home_has_a_secret_of_its_own(tmp_path: Path) -> None:
    keys = set()
    for number in range(20):
        home = Home(tmp_path / str(number))
        home.create()
        keys.add(home.load_key())
    assert {len(key) for key in keys} == {KEY_BYTES}
    assert len(keys) == 20


def test_a_secret_that_was_half_written_when_the_power_went_is_made_anew(made: Home) -> None:
    (made.path / "secret.partial").write_bytes(b"half")
    key = made.load_key()
    assert len(key) == KEY_BYTES
    assert made.load_key() == key
    assert not (made.path / "secret.partial").exists()


def test_a_missing_secret_is_never_replaced_where_something_was_signed_with_it(made: Home) -> None:
    made.load_key()
    made.database.write_bytes(b"")
    (made.path / "secret.key").unlink()
    with pytest.raises(Unusable, match="is missing, but the database was signed with it"):
        made.load_key()
    assert not (made.path / "secret.key").exists()


@pytest.mark.parametrize(
    "key", [b"", b"x", b"0" * 32, b"password" * 4, bytes(31), bytes(33), b"ab" * 16, b"\xff" * 32], ids=ascii
)
def test_a_secret_that_somebody_chose_is_refused(key: bytes, made: Home) -> None:
    (made.path / "secret.key").write_bytes(key)
    (made.path / "secret.key").chmod(0o600)
    with pytest.raises(Unusable, match="is not 32 random bytes"):
        made.load_key()


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644, 0o777, 0o620])
def test_a_secret_that_others_can_reach_is_refused(mode: int, made: Home) -> None:
    made.load_key()
    (made.path / "secret.key").chmod(mode)
    with pytest.raises(Unusable, match="can be read by other accounts") as refusal:
        made.load_key()
    assert refusal.value.hint.startswith("Run: chmod 600 ")


def test_one_process_at_a_time_holds_a_home(made: Home) -> None:
    with HomeLock(made) as first, HomeLock(made) as second:
        assert first.take()
        assert not second.take()
        assert second.holder() == f"process {os.getpid()}"
        assert second.busy_error().message == f"This home folder is in use by process {os.getpid()}."
        first.release()
        assert second.take()


def test_a_dead_process_holds_nothing(made: Home) -> None:
    hold = "import sys; from pathlib import Path; from doorward.config.home import *;"
    hold += "lock = HomeLock(Home(Path(sys.argv[1]))); lock.take(); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(made.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with HomeLock(made) as lock:
            assert not lock.take()
            assert lock.holder() == f"process {other.pid}"
            other.kill()
            other.wait()
            assert lock.take()


@pytest.mark.parametrize("text", ["", "nobody", "12 34", "\x00", "9" * 5_000])
def test_a_lock_file_with_nonsense_in_it_is_a_lock_still(text: str, made: Home) -> None:
    (made.path / "lock").write_text(text)
    with HomeLock(made) as lock, HomeLock(made) as other:
        assert other.holder() in ("another process", "process 1234")
        assert lock.take()
        assert lock.holder() == f"process {os.getpid()}"


def test_a_socket_can_lie_as_deep_as_it_likes(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 60) / ("e" * 60)
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with short_path(folder / "a.sock") as address:
            server.bind(address)
        server.listen()
        with short_path(folder / "a.sock") as address:
            client.connect(address)
    assert (folder / "a.sock").is_socket()


async def test_what_a_killed_process_left_unfinished_is_removed_at_the_next_start(opened: Any, home: Home) -> None:
    home.create()
    (home.path / "upstream-tokens").mkdir()
    left = (
        ".abcd1234.tmp",
        "recipes/.abcd1234.tmp",
        "upstream-tokens/notes.7.partial",
        "login-abc.html",
        "probe-abc/canary",
    )
    for name in left:
        (home.path / name).parent.mkdir(exist_ok=True)
        (home.path / name).write_text("left")
    async with opened() as driver:
        await driver.house.services.sandbox.level()
        assert [name for name in left if (home.path / name).exists()] == []


def test_a_tenants_workspace_is_apart_from_the_owners(made: Home) -> None:
    assert made.workspace("", "local", "local") == made.path / "workspace"
    assert made.workspace("/srv/work", "local", "local") == Path("/srv/work")
    assert made.workspace("~/work", "local", "local") == Path.home() / "work"
    assert made.workspace("/srv/work", "acme", "local") == made.path / "tenants" / "acme" / "workspace"


@pytest.mark.parametrize("spelling", ["home", "home/recipes", ".", "link", "link/recipes", "home/workspace/../recipes"])
def test_a_workspace_never_shares_a_file_with_the_home(tmp_path: Path, made: Home, spelling: str) -> None:
    (tmp_path / "link").symlink_to(made.path)
    with pytest.raises(Unusable, match=r"Doorward's home folder .*, which no command may read"):
        made.workspace(str(tmp_path / spelling), "local", "local")
    assert made.workspace(str(tmp_path / "link" / "workspace"), "local", "local") == tmp_path / "link" / "workspace"


def test_the_homes_own_workspace_folder_may_not_lead_back_into_the_home(made: Home) -> None:
    for own in (made.path / "workspace", made.path / "tenants" / "acme" / "workspace"):
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(made.path)
    for tenant in ("local", "acme"):
        with pytest.raises(Unusable, match="is Doorward's home folder"):
            made.workspace("", tenant, "local")


async def test_no_command_runs_in_a_workspace_that_was_set_to_the_home_meanwhile(
    opened: Any, home: Home, tmp_path: Path
) -> None:
    work, link = tmp_path / "work", tmp_path / "link"
    work.mkdir()
    link.symlink_to(work)
    async with opened(changes=Settings(files=FileSettings(workspace=str(link)))) as driver:
        (work / "a.txt").write_text("a")
        assert (await driver.owner("file/read", path="a.txt")).result["content"] == "a"
        link.unlink()
        link.symlink_to(home.path)
        outcome = await driver.ask("file/read", by="", room="", params={"path": "secret.key", "encoding": "base64"})
        assert (outcome.status, outcome.code) == ("refused", "conflict"), outcome
        assert "is Doorward's home folder" in outcome.message


@pytest.mark.parametrize("place", ["home", "home/recipes", ".", "/tmp/tools", "/dev/shm/tools", "/proc", "tools"])
async def test_settings_that_open_the_home_or_have_no_effect_are_refused_at_the_start(
    opened: Any, home: Home, tmp_path: Path, place: str
) -> None:
    folder = place if place == "tools" else str(tmp_path / place)
    with pytest.raises(Unusable, match=r"sandbox\.readable has .*, which (is|contains)\b"):
        async with opened(changes=Settings(sandbox=SandboxSettings(readable=(folder,)))):
            pass
