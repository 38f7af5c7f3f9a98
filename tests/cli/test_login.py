"""`doorward login` and the first words of `doorward up`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from doorward.cli import login
from doorward_process import Doorward
from waiting import PATIENCE

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/console/#login=[\w-]{32}")


def test_up_begins_with_a_link_and_login_prints_others(doorward: Doorward) -> None:
    nobody = doorward("login")
    assert nobody.code == 1
    assert "No server is running for the home folder" in nobody.err
    assert "Start it with: doorward up" in nobody.err
    with doorward.up() as server:
        after_the_house = server.said[server.said.index("") + 1 :]
        first = LINK.fullmatch(after_the_house[0].removeprefix("Open this link to log in: "))
        assert first is not None
        home = f"DOORWARD_HOME={shlex.quote(str(doorward.home))}"
        assert after_the_house[1] == f"  (it works once, within 60 minutes; for another: {home} doorward login)"
        assert f"  export {home}" in server.said
        asked = doorward("login")
        another = LINK.fullmatch(asked.out.strip())
        assert another is not None
        assert (asked.code, another[0] != first[0], int(another[1])) == (0, True, server.port)
        assert LINK.fullmatch(doorward("login", "--json").json["link"])
        server.process.terminate()
        server.process.wait(PATIENCE)
    kept = b"".join(file.read_bytes() for file in doorward.home.rglob("*") if file.is_file())
    for link in (first, another):
        assert link[0].partition("login=")[2].encode() not in kept
    assert doorward("login").code == 1


def test_where_a_service_manager_writes_everything_down_up_prints_no_link(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / "home", INVOCATION_ID="0123456789abcdef0123456789abcdef")
    with doorward.up() as server:
        assert f"For a login link: DOORWARD_HOME={shlex.quote(str(doorward.home))} doorward login" in server.said
        assert "login=" not in "\n".join(server.said)


@pytest.mark.parametrize("found", [True, False])
def test_a_browser_is_opened_by_a_page_of_ones_own_that_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    seen = []

    def opened(address: str) -> bool:
        page = Path(urlsplit(address).path)
        seen.append((address, page.stat().st_mode & 0o777, page.read_text()))
        return found

    outcome = SimpleNamespace(status="done", result={"path": "/console/#login=thecode", "expiresAt": "later"})
    monkeypatch.setenv("DOORWARD_HOME", str(tmp_path))
    monkeypatch.setattr(login, "_running", lambda: "http://127.0.0.1:1")
    monkeypatch.setattr(login.local_client, "run", lambda ask: outcome)
    monkeypatch.setattr(login.webbrowser, "open", opened)
    monkeypatch.setattr(login, "_TO_LOAD", 0.0)
    ended = CliRunner().invoke(login.command, ["--open"], catch_exceptions=False)
    ((address, mode, text),) = seen
    assert address.startswith("file:///")
    assert ("thecode" in address, mode) == (False, 0o600)
    assert 'content="0; url=http://127.0.0.1:1/console/#login=thecode"' in text
    assert (list(tmp_path.iterdir()), "No browser could be opened here" in ended.output) == ([], not found)
