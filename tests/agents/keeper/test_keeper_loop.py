"""The keeper at work: what it does is what its model asked for, through the gate, and it says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doorward.agents.keeper import model_choice
from doorward.agents.models.model import AnswerPiece, ModelFailed, NativeCall, NoAction, Prompt, TextPiece, TokenUsage
from doorward.agents.models.provider import ModelProvider
from doorward.agents.models.remote import RemoteModel
from doorward.agents.models.timeouts import Cooldown
from doorward.commands.context import Context
from doorward.config import settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.model import Credential, Request
from doorward.gate.executions.notices import Notice
from keeper_house import Kept, Script, call, kept, run, steps


async def test_an_answer_has_every_call_with_what_really_went_in_and_came_out(keeper: Kept) -> None:
    model = keeper.says([run("data/list", collection="rooms")], "There is one room, general.")
    outcome = await keeper.ask("how many rooms are there")
    answer = outcome.result
    assert outcome.status == "done"
    assert answer["success"]
    assert answer["ended"] == "answered"
    assert answer["response"] == "There is one room, general."
    assert answer["model"] == "scripted"
    assert answer["turns"] == 2
    (made,) = answer["toolCalls"]
    assert made["name"] == "run_command"
    assert made["status"] == "done"
    assert made["input"] == {"command": "data/list", "params": {"collection": "rooms"}}
    assert made["output"].startswith("Found 1 items:")
    assert model.shown[1].turns[-1].text.startswith("data/list: done.\n<data>\nFound 1 items:")


async def test_the_record_says_who_thought_and_for_whom(keeper: Kept) -> None:
    keeper.says([run("data/list", collection="rooms")], "Done.")
    outcome = await keeper.ask("list the rooms")
    by_call = {one["call"]: one for one in await keeper.records()}
    inner = by_call[outcome.result["toolCalls"][0]["execution"]]
    assert (inner["caller"], inner["kind"], inner["behalf"]) == ("keeper", "ai", "owner")
    assert (by_call[outcome.call]["caller"], by_call[outcome.call]["kind"]) == ("owner", "human")
    assert by_call[outcome.call]["note"] == "The keeper used scripted (answered)."


async def test_the_record_of_a_request_that_failed_says_what_it_was_thought_with(keeper: Kept) -> None:
    keeper.limits(turns=1)
    keeper.says(again=[run("data/list", collection="rooms")])
    outcome = await keeper.ask("list the rooms for ever")
    note = next(one["note"] for one in await keeper.records() if one["call"] == outcome.call and one["phase"] == "end")
    assert note.startswith("The keeper used scripted (turn_limit).")


async def test_a_model_that_repeats_itself_is_stuck_whoever_the_keeper_thinks_for(keeper: Kept) -> None:
    listed = [run("data/list", collection="rooms")]
    for kind in ("ai", "service"):
        keeper.says(listed, listed, listed, "Done.")
        asker = Credential(owner=True, speak_as=f"poller-{kind}", kind=kind)
        request = Request(command="agent/ask", credential=asker, door="test", room="general", params={"prompt": "look"})
        made = (await keeper.house.gate.handle(request)).result["toolCalls"]
        assert [one["status"] for one in made] == ["done", "done", "refused"], kind
        assert "2 times within" in made[2]["output"]


async def test_another_model_is_offered_three_tools_and_told_of_commands_in_words(keeper: Kept) -> None:
    model = keeper.says("Hello.")
    await keeper.ask("hello")
    shown = model.shown[0]
    assert [one.name for one in shown.tools] == ["run_command", "read_file", "write_file"]
    assert "data/list --collection=<string>" in shown.instructions
    assert "help/search" in shown.instructions
    assert "agent/ask" not in shown.instructions
    assert "approval/approve" not in shown.instructions
    assert model.count(shown.instructions) < 8_000


@pytest.mark.parametrize(
    ("answer", "name", "given"),
    [
        ([call("run_command", command="echo one two | wc -w")], "run_command", {"command": "echo one two | wc -w"}),
        (
            [call("data_list", collection="rooms")],
            "run_command",
            {"command": "data/list", "params": {"collection": "rooms"}},
        ),
        (
            "EXECUTE: data/list --collection=rooms",
            "run_command",
            {"command": "data/list", "params": {"collection": "rooms"}},
        ),
        (
            '{"name": "run_command", "arguments": {"command": "data/count", "params": {"collection": "rooms"}}}',
            "run_command",
            {"command": "data/count", "params": {"collection": "rooms"}},
        ),
        (
            '<tool_call>{"name": "run_command", "arguments": {"command": "data/count --collection=rooms"}}</tool_call>',
            "run_command",
            {"command": "data/count --collection=rooms"},
        ),
        (
            [call("run_command", command="data/count", params='{"collection": "rooms"}')],
            "run_command",
            {"command": "data/count", "params": {"collection": "rooms"}},
        ),
    ],
)
async def test_calls_are_shown_as_one_of_three_tools_however_a_model_writes_them(
    keeper: Kept, answer: Any, name: str, given: dict[str, Any]
) -> None:
    keeper.says(answer, "Done.")
    (made,) = (await keeper.ask("do it")).result["toolCalls"]
    assert (made["name"], made["input"], made["status"]) == (name, given, "done"), made


async def test_a_call_in_the_middle_of_a_sentence_is_not_made_and_the_model_is_told_how(keeper: Kept) -> None:
    asked = '{"name": "run_command", "arguments": {"command": "data/count --collection=rooms"}}'
    model = keeper.says(f"Sure: {asked} and then I will know.", asked, "There is one.")
    answer = (await keeper.ask("how many rooms are there")).result
    assert "EXECUTE: command" in model.shown[1].turns[-1].text
    assert [one["status"] for one in answer["toolCalls"]] == ["done"]
    assert answer["response"] == "There is one."


async def test_an_answer_behind_calls_that_nobody_could_read_is_no_success(keeper: Kept) -> None:
    keeper.says([NativeCall("1", "run_command", '{"command": "ls')], "All is done.")
    answer = (await keeper.ask("list the files")).result
    assert (answer["success"], answer["toolCalls"]) == (False, [])
    assert answer["error"] == "Nothing was run: the calls of scripted cannot be read."


async def test_files_are_read_and_written_as_seen_from_the_session(keeper: Kept) -> None:
    keeper.says([call("write_file", path="notes.txt", content="buy bread")], [call("read_file", "2", path="notes.txt")])
    outcome = await keeper.ask("note that I must buy bread")
    wrote, read = outcome.result["toolCalls"]
    assert wrote["name"] == "write_file"
    assert wrote["input"]["content"] == "buy bread"
    assert wrote["status"] == "done"
    assert read["name"] == "read_file"
    assert "buy bread" in read["output"]
    assert outcome.result["success"]
    workspace = await keeper.done("file/read", path="notes.txt")
    assert workspace["content"] == "buy bread"


async def test_a_session_remembers_what_was_said_and_is_nobody_elses(keeper: Kept) -> None:
    model = keeper.says("Forty-two.", "Because.")
    first = (await keeper.ask("what is the answer")).result["sessionId"]
    second = (await keeper.ask("why", session=first)).result
    assert second["sessionId"] == first
    assert [turn.text for turn in model.shown[1].turns] == ["what is the answer", "Forty-two.", "why"]
    other = await keeper.ask("why", session=first, by="helper", room="general")
    assert other.code == "not_found"
    assert (await keeper.ask("why")).result["sessionId"] != first


@pytest.mark.parametrize(
    ("limits", "again", "ended"),
    [
        ({"turns": 3}, [run("data/list", collection="rooms")], "turn_limit"),
        ({"tokens": 10}, [run("data/list", collection="rooms"), TokenUsage(9, 2)], "token_limit"),
        ({"tokens": 10}, [run("data/list", collection="rooms")], "token_limit"),
    ],
)
async def test_a_limit_is_no_success_and_says_what_was_done(keeper: Kept, limits: Any, again: Any, ended: str) -> None:
    keeper.limits(**limits)
    keeper.says(again=again)
    outcome = await keeper.ask("go round in circles")
    answer = outcome.result
    assert outcome.status == "failed"
    assert outcome.code == "command_failed"
    assert (answer["success"], answer["ended"]) == (False, ended)
    assert len(answer["toolCalls"]) == limits.get("turns", 1)
    assert answer["error"] in outcome.message
    assert "before that" in answer["response"]


async def test_time_that_is_up_ends_the_work(keeper: Kept) -> None:
    async def never(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        await asyncio.Event().wait()
        yield TextPiece("too late")

    keeper.limits(seconds=0.05)
    keeper.says(never)
    outcome = await keeper.ask("take your time")
    assert outcome.result["ended"] == "time_limit"
    assert "Nothing was run" in outcome.result["response"]


async def test_only_so_many_calls_of_one_answer_are_made(keeper: Kept) -> None:
    keeper.limits(calls=2)
    model = keeper.says([run("data/list", str(n), collection="rooms", limit=n + 1) for n in range(4)], "Enough.")
    outcome = await keeper.ask("do a lot")
    assert len(outcome.result["toolCalls"]) == 2
    told = [turn for turn in model.shown[1].turns if turn.role == "result"]
    assert [turn.answers for turn in told] == ["0", "1", "2", "3"]
    assert "may hold 2 calls" in told[-1].text


async def test_what_happens_is_told_while_it_happens(keeper: Kept) -> None:
    gone_on = asyncio.Event()
    told: list[Notice] = []

    async def slowly(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        yield TextPiece("It is ")
        await gone_on.wait()
        yield TextPiece("done.")

    def watch(notice: Notice) -> None:
        told.append(notice)
        if steps([notice], "text"):
            gone_on.set()

    keeper.says([run("data/list", collection="rooms")], slowly)
    outcome = await keeper.ask("watch me", watch=watch)
    kinds = [one.kind for one in steps(told)]
    assert kinds == ["session", "thinking", "tool_started", "tool_finished", "thinking", "text", "text"]
    assert "".join(one.data["delta"] for one in steps(told, "text")) == outcome.result["response"] == "It is done."
    assert steps(told, "session")[0].data["sessionId"] == outcome.result["sessionId"]
    assert steps(told, "tool_finished")[0].data["output"] == outcome.result["toolCalls"][0]["output"]


@pytest.mark.parametrize(
    ("answers", "ended", "says"),
    [
        ([[call("run_command")], "Sorry."], "answered", "`command` is required"),
        ([[NativeCall("1", "run_command", "{broken")], "Sorry."], "answered", "must be one JSON object"),
        ([[run("data/lits", collection="rooms")], "Sorry."], "answered", "data/list"),
        ([[run("data/list", kollection="rooms")], "Sorry."], "answered", "collection"),
        (["I will use data/list to find out.", "One room."], "answered", "contains no call"),
        (["", "One room."], "answered", "answer is empty"),
    ],
)
async def test_a_model_that_errs_is_told_what_would_be_right(
    keeper: Kept, answers: list[Any], ended: str, says: str
) -> None:
    model = keeper.says(*answers)
    outcome = await keeper.ask("how many rooms are there")
    assert outcome.result["ended"] == ended
    assert says in model.shown[1].turns[-1].text
    assert outcome.result["success"] is (outcome.result["response"] == "One room.")


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (["", ""], "gave an empty answer"),
        ([[TextPiece("Half an "), ModelFailed("cut", "It broke off.")]], "It broke off."),
    ],
)
async def test_a_model_that_fails_is_a_failure_that_says_so(keeper: Kept, answers: list[Any], says: str) -> None:
    keeper.says(*answers)
    outcome = await keeper.ask("how many rooms are there", model="scripted")
    assert outcome.status == "failed"
    assert outcome.result["ended"] == "model_failed"
    assert says in outcome.message


@pytest.mark.parametrize(
    ("model", "answers"), [("scripted", [[TextPiece("I do not know how to do that."), NoAction()]]), ("house", [])]
)
async def test_what_is_not_understood_is_no_success_and_no_failure(
    keeper: Kept, model: str, answers: list[Any]
) -> None:
    keeper.says(*answers)
    outcome = await keeper.ask("polish the brass bells of the tower with vinegar", model=model)
    assert outcome.status == "done"
    assert (outcome.result["success"], outcome.result["ended"]) == (False, "not_understood")
    assert "I do not know" in outcome.result["response"]
    assert "does not know" in outcome.result["error"]


async def test_the_house_model_stands_in_for_one_that_cannot_be_asked_and_says_so(keeper: Kept) -> None:
    keeper.says([ModelFailed("down", "It is not there.")])
    answer = (await keeper.ask("how many rooms do we have")).result
    assert answer["model"] == "house"
    assert answer["success"]
    assert answer["toolCalls"][0]["status"] == "done"
    assert "scripted is not available, so the house model answered instead" in answer["notes"][0]


async def test_no_model_is_shown_what_a_secret_variable_holds(keeper: Kept) -> None:
    """A person's variables that are named like a secret do not reach it, and those it sets itself are hidden."""
    opened = await keeper.done("shell/script", script="DB_PASSWORD=hunter4secret", session="new")
    model = keeper.says(
        [call("run_command", command="printenv; echo $DB_PASSWORD")],
        [call("run_command", command="set API_TOKEN hunter5secret; echo $API_TOKEN; data/read x $API_TOKEN")],
        "Done.",
    )
    answer = await keeper.ask("show it", session=opened["session"])
    assert [one["status"] for one in answer.result["toolCalls"]] == ["failed", "failed"]
    seen = repr((answer, await keeper.records(), [turn.text for prompt in model.shown for turn in prompt.turns]))
    assert [one for one in ("hunter4secret", "hunter5secret") if one in seen] == []


async def test_a_model_asked_for_by_name_is_not_replaced(keeper: Kept) -> None:
    keeper.says([ModelFailed("down", "It is not there.")])
    assert (await keeper.ask("how many rooms", model="scripted")).result["ended"] == "model_failed"
    unknown = await keeper.ask("how many rooms", model="nobody:none")
    assert unknown.code == "bad_params"
    assert "nobody:none" in unknown.message


async def test_the_model_is_what_settings_and_environment_say(keeper: Kept) -> None:
    keeper.limits()
    services = keeper.house.services
    keeper.says("Hello.")
    assert (await keeper.ask("hello")).result["model"] == "scripted"
    assert (await keeper.ask("how many rooms do we have", model="house")).result["model"] == "house"
    services.settings = msgspec.structs.replace(
        services.settings, keeper=msgspec.structs.replace(services.settings.keeper, model="")
    )
    assert (await keeper.ask("how many rooms do we have")).result["model"] == "house"
    keeper.think({"OPENAI_API_KEY": "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "USHELL_LLM_MODEL": "some-model"})
    answer = (await keeper.ask("how many rooms do we have")).result
    assert "openai:some-model is not available" in answer["notes"][0]


async def test_a_command_that_runs_when_time_is_up_is_stopped_and_said_to_be(tmp_path: Path) -> None:
    family = Family("slow", category="tests")

    @family.command(
        "wait",
        tier=Tier.INFORMATION,
        effects=Effects.READ,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=60,
        undo=READS_ONLY,
        examples=[Example("wait", {})],
    )
    async def wait(ctx: Context) -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    async with kept(tmp_path / "home", [family]) as keeper:
        keeper.limits(seconds=0.5)
        keeper.says([run("slow/wait")])
        answer = (await keeper.ask("wait for ever")).result
        last = {one["command"]: one["code"] for one in await keeper.records()}
    assert answer["ended"] == "time_limit"
    assert [one["status"] for one in answer["toolCalls"]] == ["failed"]
    assert last["slow/wait"] == "cancelled"


async def test_energy_that_is_used_up_ends_the_work_and_is_that_of_the_person(tmp_path: Path) -> None:
    async with kept(
        tmp_path / "home", energy=settings.EnergySettings(enabled=True, start=1.0, recovery_per_second=0.0)
    ) as keeper:
        keeper.says(again=[run("data/list", collection="rooms")])
        answer = (await keeper.ask("go on for ever")).result
    assert answer["ended"] == "energy_limit"
    assert answer["toolCalls"][-1]["status"] == "refused"
    assert "owner has no energy left" in answer["error"]


@pytest.mark.parametrize(("address", "away"), [("http://127.0.0.1:11434/v1", False), ("", True), ("nowhere", True)])
def test_whoever_asks_is_told_when_something_leaves_this_machine(address: str, away: bool) -> None:
    provider = ModelProvider(name="some", settings=settings.ProviderSettings(base_url=address), model="m")
    model = RemoteModel(provider, "m", settings.ModelSettings(), {}, Cooldown(time.monotonic))
    assert bool(model_choice.remote_notice(model)) is away
    assert not model_choice.remote_notice(Script())
