"""`doorward login` and the first words of `doorward up`."""

from __future__ import annotations

import re

from doorward_process import Doorward

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/console/#login=[\w-]{32}")


def test_up_begins_with_a_link_and_login_prints_others(doorward: Doorward) -> None:
    nobody = doorward("login")
    assert nobody.code == 1
    assert "No server runs for the home folder" in nobody.err
    assert "Start it with: doorward up" in nobody.err
    with doorward.up() as server:
        after_the_house = server.said[server.said.index("") + 1 :]
        first = LINK.fullmatch(after_the_house[0].removeprefix("Open this to begin: "))
        assert first is not None
        assert after_the_house[1] == "  (it works once, within 60 minutes; for another: doorward login)"
        asked = doorward("login")
        another = LINK.fullmatch(asked.out.strip())
        assert another is not None
        assert (asked.code, another[0] != first[0], int(another[1])) == (0, True, server.port)
        assert LINK.fullmatch(doorward("login", "--json").json["link"])
        server.process.terminate()
        server.process.wait(30)
    kept = b"".join(file.read_bytes() for file in doorward.home.rglob("*") if file.is_file())
    for link in (first, another):
        assert link[0].partition("login=")[2].encode() not in kept
    assert doorward("login").code == 1
