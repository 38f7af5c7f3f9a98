"""Answers to an approval besides "once": for a session, always, a denial with a reason, and holding by looking."""

from __future__ import annotations

import contextlib
import json

import pytest

from doorward.core.model import Credential, Request

RECIPE = """{
    "recipeId": "careful",
    "displayName": "Careful",
    "strategy": {
        "aiCommands": {
            "enabled": true,
            "tiers": ["information", "code"],
            "maxCommandsPerMinute": 1000000,
            "requireApproval": {"file/*": true, "bash": true}
        }
    }
}
"""
"""Written by hand, with four spaces: what an answer adds must not change the rest."""


@pytest.fixture
def lab(opened):
    @contextlib.asynccontextmanager
    async def open_lab(text=RECIPE):
        async with opened() as driver:
            await driver.owner("recipe/put", id="careful", text=text)
            await driver.owner("room/create", name="lab", recipe="careful")
            yield driver

    return open_lab


async def write(driver, path="src/a.py", content="hi", session="one", **more):
    params = {"path": path, "content": content, "createParents": True, **more.pop("extra", {})}
    return await driver.ask("file/write", room="lab", params=params, session=session, **more)


async def script(driver, text, **more):
    return await driver.ask("bash", room="lab", params={"command": text, **more}, session="one")


async def answer(driver, ticket, token="", **params):
    return await driver.ask("approval/approve", by="", token=token, room="", params={"id": ticket, **params})


async def join_as_admin(driver):
    """Ben, who may decide in the lab and may not change recipes; gives his token."""
    await driver.owner("user/create", id="ben", access="full")
    await driver.owner("room/join", name="lab", member="ben", role="admin")
    return await driver.token("ben-phone", user="ben", kind="human", access="full")


def statuses(outcomes):
    return [one.status for one in outcomes]


async def test_an_answer_for_the_session_covers_that_path_in_that_session_and_nothing_else(lab):
    async with lab() as driver:
        parked = await write(driver)
        given = await answer(driver, parked.ticket, scope="session")
        again = await write(driver, content="other text")
        rule = (await driver.ledger())[-1]["rule"]
        others = [
            await write(driver, path="src/b.py"),
            await write(driver, path="src/../src/a.py"),
            await write(driver, extra={"encoding": "base64"}, content="aGk="),
            await write(driver, session="two"),
            await write(driver, by="another"),
            await driver.ask("file/delete", room="lab", params={"path": "src/a.py"}, session="one"),
        ]
    assert 'path is "src/a.py" and content is any text' in given.result["rule"]
    assert (again.status, rule) == ("done", f"approval {parked.ticket}: owner approved it for this session")
    assert statuses(others) == ["parked"] * 6


async def test_an_answer_for_the_session_ends_with_its_time_its_decider_and_its_token(lab, clock):
    async with lab() as driver:
        ben = await join_as_admin(driver)
        made = (await driver.owner("token/create", name="agent", kind="ai", rooms=["lab"], access="edit")).result
        mine = {"token": made["token"], "session": "one"}

        async def grant(**who):
            parked = await write(driver, **mine)
            await answer(driver, parked.ticket, scope="session", **who)
            return (await write(driver, content="again", **mine)).status

        fresh = await grant()
        clock.advance(driver.house.settings.approvals.session_seconds + 1)
        late = (await write(driver, **mine)).status
        of_ben = await grant(token=ben)
        await driver.owner("room/leave", name="lab", member="ben")
        without_ben = (await write(driver, **mine)).status
        renewed = await grant()
        grants = driver.house.services.approvals.grants
        assert grants._grants
        await driver.owner("token/revoke", id=made["id"])
        assert not grants._grants
        revoked = await write(driver, **mine)
    assert (fresh, late, of_ben, without_ben, renewed) == ("done", "parked", "done", "parked", "done")
    assert revoked.code == "not_authenticated"


async def test_always_adds_the_shown_rule_to_the_recipe_and_undo_takes_it_out(lab):
    async with lab() as driver:
        for name in ("a", "b"):
            await write(driver, path=f"src/{name}.py")
        parked, alike = [await write(driver, path="src/c.py") for _ in range(2)]
        shown = (await driver.owner("approval/rules", id=parked.ticket)).result
        given = await answer(driver, parked.ticket, scope="always", rule="folder")
        second = await answer(driver, alike.ticket, scope="always", rule="folder")
        text = driver.house.services.recipes.text("careful").decode()
        free = [await write(driver, path=path, session="two", by="another") for path in ("src/a.py", "src/x/b.py")]
        rule = (await driver.ledger())[-1]["rule"]
        asked = [
            await write(driver, path="other/a.py"),
            await write(driver, path="src/../other/a.py"),
            await write(driver, path="/src/a.py"),
            await write(driver, extra={"encoding": "base64"}, content="aGk="),
        ]
        undone = await driver.owner("undo", execution=given.result["recipeChange"])
        back = driver.house.services.recipes.text("careful").decode()
        after = await write(driver, path="src/a.py")
    exact, folder = shown["items"]
    assert (shown["recipe"], shown["rooms"], shown["always"]) == ("careful", ["lab"], "")
    assert (exact["past"]["asked"], folder["past"]["asked"]) == (2, 4)
    entry = {
        "command": "file/write",
        "params": {
            "path": {"glob": "src/**"},
            "content": {"type": "string"},
            "createParents": {"const": True},
        },
    }
    assert folder["allowance"] == entry
    assert json.loads(text)["strategy"]["aiCommands"]["allowWithoutApproval"] == [entry]
    assert text.startswith(RECIPE[: RECIPE.index('"requireApproval"')])
    assert (statuses(free), rule) == (["done", "done"], 'recipe careful: allowWithoutApproval "file/write"')
    assert statuses(asked) == ["parked"] * 4
    assert (second.status, second.result.get("recipeChange")) == ("done", None)
    assert (undone.status, back, after.status) == ("done", RECIPE, "parked")


async def test_a_prefix_covers_plain_words_and_no_shell_syntax(lab):
    async with lab() as driver:
        parked = await script(driver, "echo one two")
        await answer(driver, parked.ticket, scope="session", rule="prefix")
        free = [await script(driver, text) for text in ("echo one", "echo one tests/a.py --x=1")]
        texts = [
            "echo two",
            "echo onest",
            "echo one; id",
            "echo one && id",
            "echo one $(id)",
            "echo one `id`",
            "echo one > a",
            "echo one\nid",
            "echo one ../x",
            "echo one\n",
            "echo one 'a b'",
        ]
        asked = [await script(driver, text) for text in texts]
        elsewhere = await script(driver, "echo one", folder="sub")
        wrappers = [await script(driver, text) for text in ("env A=1 id", "sh x.sh", "A=1 id x", "id | cat")]
        refused = [await answer(driver, one.ticket, scope="session", rule="prefix") for one in wrappers]
    assert statuses(free) == ["done", "done"]
    assert dict(zip(texts, statuses(asked), strict=True)) == dict.fromkeys(texts, "parked")
    assert elsewhere.status == "parked"
    assert {one.code for one in refused} == {"bad_params"}
    assert "Rules: exact" in refused[0].message


async def test_no_answer_lifts_a_built_in_rule(lab):
    allowance = {"command": "file/write", "params": {"path": {"glob": "**"}, "content": {"type": "string"}}}
    recipe = json.loads(RECIPE)
    recipe["strategy"]["aiCommands"]["allowWithoutApproval"] = [allowance]
    async with lab(json.dumps(recipe)) as driver:
        plain = {"content": "x"}
        free = await driver.ask("file/write", room="lab", params={"path": "a.txt", **plain})
        guarded = await driver.ask("file/write", room="lab", params={"path": ".git/config", **plain})
        offered = (await driver.owner("approval/rules", id=guarded.ticket)).result
        refused = [await answer(driver, guarded.ticket, scope=scope) for scope in ("session", "always")]
        secret = await script(driver, "curl -H 'Authorization: Bearer abcdefghijklmnop' x")
        hidden = await answer(driver, secret.ticket, scope="always")
        states = {one["state"] for one in (await driver.owner("approval/list")).result["items"]}
        text = driver.house.services.recipes.text("careful").decode()
    assert (free.status, guarded.status, offered["items"]) == ("done", "parked", [])
    assert {one.code for one in (*refused, hidden)} == {"conflict"}
    assert "abcdefghijklmnop" not in text
    assert states == {"pending"}


async def test_only_people_who_may_answer_do(lab):
    """An agent answers and holds nothing; an admin without root access answers for a session, but not always."""
    async with lab() as driver:
        ben = await join_as_admin(driver)
        parked = await write(driver)

        async def attempt(command, token="", by="helper", **params):
            return await driver.ask(command, room="", by=by, token=token, params={"id": parked.ticket, **params})

        agent = [
            await attempt("approval/approve", scope="session"),
            await attempt("approval/approve", scope="always"),
            await attempt("approval/hold"),
            await attempt("approval/rules"),
            await attempt("approval/deny", reason="x"),
        ]
        offered = (await attempt("approval/rules", token=ben)).result
        always = await attempt("approval/approve", token=ben, scope="always")
        still = (await attempt("approval/show", by="")).result
        session = await attempt("approval/approve", token=ben, scope="session")
        text = driver.house.services.recipes.text("careful").decode()
    assert {one.code for one in agent} == {"not_permitted"}
    assert "root" in offered["always"]
    assert offered["session"] == ""
    assert (always.code, still["state"], still["heldBy"]) == ("not_permitted", "pending", "")
    assert (session.status, text) == ("done", RECIPE)


async def test_a_reason_for_a_denial_reaches_the_caller_and_the_ledger(lab):
    async with lab() as driver:
        parked = await write(driver)
        await driver.owner("approval/deny", id=parked.ticket, reason="Use pathlib\x1b[31m\u202e, password=hunter2.")
        polled = await driver.ask("", room="lab", ticket=parked.ticket, session="one")
        note = next(row["note"] for row in await driver.ledger() if row["status"] == "denied")
        long = await driver.ask("approval/deny", by="", room="", params={"id": "x", "reason": "x" * 501})
    assert polled.message.startswith(f"Approval {parked.ticket} is denied: Use pathlib")
    assert "Follow that" in polled.hint
    for text in (polled.message, note):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "hunter2" not in text
    assert note.startswith("Denied by owner: Use pathlib")
    assert long.code == "bad_params"


async def test_looking_holds_a_request_once_for_ten_minutes_unless_the_recipe_sets_its_time(lab, clock):
    recipe = json.loads(RECIPE)
    recipe["strategy"]["aiCommands"]["requireApproval"] = {
        "file/write": True,
        "file/edit": {"timeoutSeconds": 30},
        "bash": {"timeoutSeconds": 30, "holdSeconds": 60},
    }
    edit = {"path": "a.txt", "oldString": "a", "newString": "b"}
    async with lab(json.dumps(recipe)) as driver:
        waiting = [
            await write(driver),
            await driver.ask("file/edit", room="lab", params=edit, session="one"),
            await script(driver, "id"),
        ]
        clock.advance(29)
        began = clock.now()
        held = [(await driver.owner("approval/hold", id=one.ticket)).result for one in waiting]
        events = [one async for one in _held_events(driver)]
        clock.advance(59)
        again = (await driver.owner("approval/hold", id=waiting[0].ticket)).result
        states = [(await driver.owner("approval/show", id=one.ticket)).result["state"] for one in waiting]
        clock.advance(542)
        late = await answer(driver, waiting[0].ticket)
    assert [one["expiresAt"] for one in held[:1]] == [again["expiresAt"]]
    assert states == ["pending", "expired", "pending"]
    assert sorted(round(one["expires_at"] - began) for one in events) == [60, 600]
    assert late.code == "conflict"


async def _held_events(driver):
    found = await driver.owner("event/list", only="approval:held")
    for one in found.result["items"]:
        yield one["data"]


async def test_a_session_is_not_borrowed_by_another_credential(lab):
    """A caller that names another's session gets none of what was granted there."""
    async with lab() as driver:
        parked = await write(driver)
        await answer(driver, parked.ticket, scope="session")
        params = {"path": "src/a.py", "content": "x", "createParents": True}
        borrowed = await driver.house.gate.handle(
            Request(
                command="file/write",
                credential=Credential(owner=True, speak_as="helper", kind="service"),
                door="test",
                room="lab",
                params=params,
                session="one",
            )
        )
    assert borrowed.status == "parked"


async def test_a_tool_that_always_asks_is_allowed_with_exactly_these_parameters(house, scratch):
    """Tools of other servers ask by themselves, without a word in the recipe."""
    (touch,) = [one for one in scratch.family.commands if one.name == "scratch/touch"]
    touch.asks_first = True
    async with house() as driver:

        async def call(text):
            return await driver.ask("scratch/touch", room="lab", params={"text": text})

        parked = await call("one")
        await answer(driver, parked.ticket, scope="always")
        same, other = await call("one"), await call("two")
        touch.version = "2"
        session = await call("three")
        await answer(driver, session.ticket, scope="session")
        covered = await call("three")
        touch.version = "3"
        changed = await call("three")
    assert (same.status, same.rule) == ("done", 'recipe scratch: allowWithoutApproval "scratch/touch"')
    assert (other.status, covered.status, changed.status) == ("parked", "done", "parked")
