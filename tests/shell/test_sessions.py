"""Sessions of the shell: each of one user, in one place, kept over restarts and forgotten in time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from typed_lines import Typing

from doorward.config.settings import SessionSettings as SessionSettings
from doorward.config.settings import Settings
from doorward.core.classification import Access
from doorward.core.errors import BadParams, LedgerUnavailable, NotFound, NotPermitted
from doorward.core.model import Caller
from doorward.shell.session import ShellSession
from doorward.store import keeper_waits

ADA = Caller("local", "ada", "human", Access.ROOT)
BOB = Caller("local", "bob", "human", Access.ROOT)
ADA_ELSEWHERE = Caller("other", "ada", "human", Access.ROOT)
BOT = Caller("local", "bot", "ai", Access.EDIT, "ada")
BOT_OF_BOB = Caller("local", "bot", "ai", Access.EDIT, "bob")
LONER = Caller("local", "loner", "service", Access.EDIT)


async def test_an_id_of_somebody_else_means_nothing(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    everybody = (ADA, BOB, ADA_ELSEWHERE, BOT, BOT_OF_BOB, LONER)
    for owner in everybody:
        mine = await sessions.open(owner, "")
        await sessions.save(mine)
        assert (await sessions.open(owner, "", mine.id)).id == mine.id
        for other in everybody:
            if other is not owner:
                with pytest.raises(NotFound):
                    await sessions.open(other, "", mine.id)
                with pytest.raises(NotFound):
                    await sessions.delete(other, mine.id)
                assert mine.id not in [one.id for one in await sessions.list_own(other)]


async def test_the_keeper_looks_at_the_sessions_of_whoever_it_thinks_for_and_goes_on_in_its_own(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    everybody = (ADA, BOB, ADA_ELSEWHERE, BOT, BOT_OF_BOB, LONER)
    for owner in everybody:
        mine, its = await sessions.open(owner, ""), await sessions.open(owner.as_keeper(), "")
        await sessions.save(mine)
        await sessions.save(its)
        for other in everybody:
            with pytest.raises(NotFound):
                await sessions.open(other.as_keeper(), "", mine.id)
            with pytest.raises(NotFound):
                await sessions.open(other, "", its.id)
            if other is not owner:
                with pytest.raises(NotFound):
                    await sessions.open(other.as_keeper(), "", its.id)
                with pytest.raises(NotFound):
                    await sessions.read(other.as_keeper(), "", mine.id)
        assert (await sessions.read(owner.as_keeper(), "", mine.id)).id == mine.id
        assert mine.id in [one.id for one in await sessions.list_own(owner.as_keeper())]
        async with sessions.use(mine), sessions.copy_of(mine, owner.as_keeper()) as copy:
            assert await sessions.open(owner.as_keeper(), "", copy.id) is copy


async def test_a_credential_for_some_rooms_neither_sees_nor_ends_sessions_elsewhere(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    here, there = await sessions.open(BOB, "general"), await sessions.open(BOB, "quiet-project")
    outside = await sessions.open(BOB, "")
    for one in (here, there, outside):
        await sessions.save(one)
    narrow = Caller("local", "bob", "human", Access.ROOT, rooms=("general",))
    listed = [one.id for one in await sessions.list_own(narrow)]
    assert (here.id in listed, there.id in listed, outside.id in listed) == (True, False, False)
    for one in (there, outside):
        with pytest.raises(NotFound):
            await sessions.delete(narrow, one.id)
    await sessions.delete(narrow, here.id)
    assert here.id not in [one.id for one in await sessions.list_own(BOB)]


async def test_calls_in_one_session_at_once_do_not_move_each_other_about(typing: Typing) -> None:
    typing.fresh()
    session = (await typing.script(script="A=1; B=2; alias n='wc -l'", session="new")).result["session"]
    lines = [
        "cd src; A=changed; seq 3 | xargs -n 1 echo > /dev/null; pwd; echo $A $B",
        "seq 3 | xargs -n 1 echo > /dev/null; unset B; C=3; pwd; echo $A ${B:-none}",
        "cd notes; seq 3 | xargs -n 1 echo > /dev/null; pwd; unalias n; cd /workspace",
    ]
    said = await asyncio.gather(*(typing.line(line, session) for line in lines))
    printed = ["/workspace/src\nchanged 2\n", "/workspace\n1 none\n", "/workspace/notes\n"]
    assert [one[0] for one in said] == printed
    after = (await typing.ask("session/show", session=session)).result
    assert (after["cwd"], after["variables"], after["aliases"]) == ("/workspace/src", {"A": "changed", "C": "3"}, {})
    assert [line.partition(";")[0] for line in after["history"]].count("cd src") == 1
    assert len(after["history"]) == 1 + len(lines)


async def test_what_was_done_is_told_even_if_the_session_cannot_be_stored(
    typing: Typing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_: ShellSession) -> None:
        raise LedgerUnavailable("The disk is full.")

    session = (await typing.ask("session/open")).result["session"]
    monkeypatch.setattr(typing.house.services.sessions, "_save", full)
    outcome = await typing.script(script="echo done", session=session)
    assert (outcome.status, outcome.result["stdout"]) == ("done", "done\n")
    assert "could not be stored: The disk is full." in outcome.result["stderr"]
    changed = await typing.ask("sh/cd", session=session, args=["/tmp"])
    assert "could not be stored" in changed.result["stderr"]
    asked = (await typing.ask("agent/ask", prompt="what time is it", session=session)).result
    assert asked["response"]
    assert "could not be stored" in asked["notes"][-1]


async def test_without_an_id_there_is_always_a_new_one(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    made = {(await sessions.open(ADA, "")).id for _ in range(50)}
    assert len(made) == 50
    first, second = [(await typing.script(script="A=1; pwd", session="new")).result["session"] for _ in range(2)]
    assert first != second
    assert (await typing.line("echo ${A:-unset}", first))[0] == "1\n"
    assert (await typing.line("echo ${A:-unset}"))[0] == "unset\n"


async def test_an_unknown_or_misshapen_id_is_refused_and_never_replaced(typing: Typing) -> None:
    for id in ("0" * 24, "not-there-at-all"):
        outcome = await typing.script(script="pwd", session=id)
        assert (outcome.code, outcome.result) == ("not_found", None)
        assert "You have no session" in outcome.message
    for id in ("x", "../../etc", "a b c d e f g h", "%00%00%00%00"):
        outcome = await typing.script(script="pwd", session=id)
        assert (outcome.code, outcome.result) == ("bad_params", None)
    sessions = typing.house.services.sessions
    for caller in (ADA, BOT):
        with pytest.raises(BadParams):
            await sessions.open(caller, "", "short")


async def test_a_session_goes_on_only_where_it_was_opened(typing: Typing) -> None:
    outside = (await typing.ask("session/open")).result["session"]
    inside = (await typing.ask("session/open", room="general")).result["session"]
    refused = await typing.script(script="pwd", session=outside, room="general")
    assert refused.code == "not_permitted"
    assert "was opened outside rooms and works only there; this call is in room 'general'" in refused.message
    refused = await typing.script(script="pwd", session=inside)
    assert "was opened in room 'general'" in refused.message
    assert (await typing.line("pwd", inside, room="general"))[2] == 0
    with pytest.raises(NotPermitted):
        await typing.house.services.sessions.open(Caller("local", "owner", "human", Access.ROOT), "", inside)


async def test_a_session_remembers_from_line_to_line(typing: Typing) -> None:
    typing.fresh()
    session = (await typing.ask("session/open")).result["session"]
    await typing.line("cd src; A='x y'; alias n='wc -l'", session)
    await typing.line("grep zzz main.py", session)
    assert (await typing.line('echo "$? $A $PWD"; n main.py', session))[0] == "1 x y /workspace/src\n2 main.py\n"
    shown = (await typing.ask("session/show", session=session)).result
    assert (shown["cwd"], shown["status"], shown["variables"]) == ("/workspace/src", 0, {"A": "x y"})
    assert shown["aliases"] == {"n": "wc -l"}
    assert shown["history"][1] == "grep zzz main.py"
    listed = await typing.script(commands=["n main.py", "n util.py"], session=session)
    assert listed.result["stdout"] == "2 main.py\n2 util.py\n"
    assert (await typing.ask("shell/history", session=session)).result["lines"][3] == "grep zzz main.py"
    around = (await typing.ask("shell/context", session=session)).result["session"]
    assert (around["cwd"], around["variables"], len(around["lines"])) == ("/workspace/src", ["A"], 5)
    assert (await typing.ask("shell/info", session=session)).result["session"]["home"] == "/home/owner"
    assert session in [one["session"] for one in (await typing.ask("session/list")).result["items"]]
    await typing.ask("session/end", session=session)
    assert (await typing.script(script="pwd", session=session)).code == "not_found"
    assert (await typing.ask("session/end", session=session)).code == "not_found"


async def test_what_cd_and_export_do_in_a_call_alone_is_gone_with_it(typing: Typing) -> None:
    typing.fresh()
    outcome = await typing.script(script="cd src; A=1; echo $A; pwd")
    assert (outcome.result["stdout"], outcome.result["session"]) == ("1\n/workspace/src\n", "")
    assert (await typing.line("pwd; echo ${A:-gone}"))[0] == "/workspace\ngone\n"
    outcome = await typing.script(script="pwd", folder="src")
    assert outcome.result["cwd"] == "/workspace/src"


async def test_a_copy_for_what_stands_in_brackets_leaves_the_original_alone(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    mine = await sessions.open(ADA, "")
    async with sessions.use(mine), sessions.copy_of(mine) as copy:
        assert (await sessions.open(ADA, "", copy.id)) is copy
        copy.set_variable("A", "1")
        copy.cwd = "/data"
        await sessions.save(copy)
    assert (mine.env, mine.cwd) == ({}, "/workspace")
    with pytest.raises(NotFound):
        await sessions.open(ADA, "", copy.id)


async def test_while_it_is_used_there_is_one_of_it(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    mine = await sessions.open(ADA, "")
    async with sessions.use(mine):
        found = await sessions.open(ADA, "", mine.id)
        assert found is mine
        found.set_variable("A", "1")
        await sessions.save(found)
        async with sessions.use(found) as inner:
            inner.set_variable("B", "2")
    assert (await sessions.open(ADA, "", mine.id)).env == {"A": "1", "B": "2"}


async def test_one_that_is_ended_while_it_is_used_does_not_come_back(typing: Typing) -> None:
    sessions = typing.house.services.sessions
    mine = await sessions.open(ADA, "")
    async with sessions.use(mine):
        await sessions.delete(ADA, mine.id)
    with pytest.raises(NotFound):
        await sessions.open(ADA, "", mine.id)


def test_what_a_session_holds_is_bounded() -> None:
    session = ShellSession(tenant="t", user="ada", id="x" * 24, room="")
    for number in range(200):
        session.set_variable(f"V{number}", "x")
    session.set_variable("V1", "again")
    with pytest.raises(BadParams, match="at most 200 variables"):
        session.set_variable("ONE_MORE", "x")
    with pytest.raises(BadParams, match="at most 32768 characters"):
        session.set_variable("V1", "x" * 32_769)
    for number in range(8):
        session.set_variable(f"V{number}", "x" * 32_000)
    with pytest.raises(BadParams, match="together"):
        session.set_variable("V9", "x" * 32_000)
    for name in ("", "a b", "a/b", "a=b", "$x", "a|b"):
        with pytest.raises(BadParams, match="one plain word"):
            session.set_alias(name, "ls")
    for number in range(600):
        session.add_history(f"line {number}")
    session.add_history("line 599")
    assert (len(session.history), session.history[0], session.history[-1]) == (500, "line 100", "line 599")
    session.add_history("x" * 5_000)
    assert len(session.history[-1]) == 2_000
    for number in range(25):
        session.add_talk(f"asked {number}", "x" * 9_000)
    assert (len(session.talk), session.talk[-1][0], len(session.talk[-1][1])) == (20, "asked 24", 8_000)


async def test_what_was_asked_once_pushes_out_neither_what_is_used_nor_what_waits(
    opened: Callable[..., contextlib.AbstractAsyncContextManager[Any]], clock: Any
) -> None:
    async with opened(changes=Settings(sessions=SessionSettings(each=8))) as driver:
        services = driver.house.services
        used, waits, once = [await services.sessions.open(ADA, "") for _ in range(3)]
        for one in (used, waits, once, used):
            await services.sessions.save(one)
        await services.store.write(keeper_waits.put("ticket", "local", waits.id, "{}", clock.now()))
        for _ in range(20):
            clock.advance(1)
            await services.sessions.save(newest := await services.sessions.open(ADA, ""))
        left = [one.id for one in await services.sessions.list_own(ADA)]
        assert len(left) == 8
        assert {used.id, waits.id, newest.id} < set(left)
        assert once.id not in left


async def test_sessions_outlive_the_process_and_are_forgotten_when_idle(
    opened: Callable[..., contextlib.AbstractAsyncContextManager[Any]], clock: Any
) -> None:
    settings = Settings(sessions=SessionSettings(idle_days=2.0, each=3))
    async with opened(changes=settings) as driver:
        sessions = driver.house.services.sessions
        kept = await sessions.open(ADA, "")
        kept.set_variable("A", "1")
        kept.add_talk("what is here", "nothing")
        await sessions.save(kept)
    async with opened(changes=settings) as driver:
        sessions = driver.house.services.sessions
        found = await sessions.open(ADA, "", kept.id)
        assert (found.env, found.talk) == ({"A": "1"}, [("what is here", "nothing")])
        for _ in range(3):
            clock.advance(1)
            await sessions.save(await sessions.open(ADA, ""))
        assert len(await sessions.list_own(ADA)) == 3
        with pytest.raises(NotFound):
            await sessions.open(ADA, "", kept.id)
        last = (await sessions.list_own(ADA))[0]
        clock.advance(2 * 86_400 + 1)
        with pytest.raises(NotFound):
            await sessions.open(ADA, "", last.id)
        await driver.house.services.store.write(*sessions.delete_expired())
        assert await sessions.list_own(ADA) == []
