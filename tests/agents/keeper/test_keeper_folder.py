"""The keeper works where the session is: the same name means another file in another folder."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.agents.house.plan import Step
from doorward.agents.house.results import ToolResult
from doorward.agents.house.session_paths import from_workspace, to_workspace
from keeper_house import Kept, run

PLACES = {"/workspace": "notes.txt", "/workspace/sub": "sub/notes.txt", "/home/owner": "home/owner/notes.txt"}


@pytest.fixture
async def session(keeper: Kept) -> Any:
    """Opens a session in a folder; in each there is a file of the same name."""
    for folder, path in PLACES.items():
        await keeper.done("file/write", path=path, content=f"{folder}\n")

    async def opened(folder: str) -> str:
        return str((await keeper.done("shell/script", script=f"cd {folder}", session="new"))["session"])

    return opened


async def asked(keeper: Kept, words: str, session: str) -> dict[str, Any]:
    answer = await keeper.ask(words, session=session, model="house")
    assert answer.status == "done", answer
    found: dict[str, Any] = answer.result
    return found


@pytest.mark.parametrize("folder", PLACES)
async def test_a_file_is_read_changed_and_deleted_where_the_session_is(keeper: Kept, session: Any, folder: str) -> None:
    here = await session(folder)
    assert f"> {folder}" in (await asked(keeper, "read notes.txt", here))["response"]
    await asked(keeper, "append the line more to notes.txt", here)
    (waiting,) = (await asked(keeper, "delete the file notes.txt", here))["toolCalls"][-1:]
    assert waiting["input"]["params"]["path"] in (PLACES[folder], f"/workspace/{PLACES[folder]}")
    texts = {one: (await keeper.done("file/read", path=path))["content"] for one, path in PLACES.items()}
    assert texts == {one: f"{one}\nmore\n" if one == folder else f"{one}\n" for one in PLACES}


async def test_a_program_runs_where_the_session_is_also_for_a_model_that_names_it(keeper: Kept, session: Any) -> None:
    here = await session("/workspace/sub")
    keeper.says([run("shell/cat", files=["notes.txt"])], "Done.")
    (call,) = (await keeper.ask("what is in it", session=here)).result["toolCalls"]
    assert call["output"].strip().endswith("/workspace/sub")


async def test_whoever_names_the_workspace_means_it_wherever_they_are(keeper: Kept, session: Any) -> None:
    here = await session("/workspace/sub")
    assert "> /workspace\n" in (await asked(keeper, "read /workspace/notes.txt", here))["response"] + "\n"


async def test_where_no_files_are_nobody_guesses_which_is_meant(keeper: Kept, session: Any) -> None:
    answer = await asked(keeper, "read notes.txt", await session("/data"))
    assert not answer["success"]
    assert answer["toolCalls"] == []
    assert "Say the whole path" in answer["response"]


async def test_what_is_suggested_is_for_where_somebody_is(keeper: Kept) -> None:
    for folder, path in PLACES.items():
        found = await keeper.done("help/suggest", query="delete the file notes.txt", folder=folder)
        assert found["params"] == {"path": path}


@pytest.mark.parametrize(
    ("step", "params"),
    [
        (Step("file/read", {"path": "a.txt"}), {"path": "sub/a.txt"}),
        (Step("file/list"), {"path": "sub"}),
        (Step("file/list", {"path": "."}), {"path": "sub"}),
        (Step("file/read", {"path": "../a.txt"}), {"path": "a.txt"}),
        (Step("vfs/find", {"name": "*.py"}), {"name": "*.py", "path": "/workspace/sub"}),
        (Step("vfs/read", {"path": "/workspace/a.txt"}), {"path": "/workspace/sub/a.txt"}),
        (Step("vfs/read", {"path": "/workspace/sub/a.txt"}), {"path": "/workspace/sub/a.txt"}),
        (Step("vfs/read", {"path": "/data/orders/1"}), {"path": "/data/orders/1"}),
        (Step("data/list", {"collection": "orders"}), {"collection": "orders"}),
        (Step("shell/cat", {"files": ["a.txt"]}), {"files": ["a.txt"]}),
    ],
)
def test_a_step_is_put_in_its_place(step: Step, params: dict[str, Any]) -> None:
    assert to_workspace(step, "sub", "read it").params == params
    assert to_workspace(step, "", "read it") is step
    assert to_workspace(step, "sub", "read it in the workspace") is step


def test_a_result_is_seen_from_where_the_session_is() -> None:
    got = ToolResult(
        command="file/list", params={"path": "sub"}, value={"items": [{"path": "sub/a.txt"}, {"path": "my-sub/b"}]}
    )
    seen = from_workspace(got, "sub")
    assert (seen.params, seen.value) == ({"path": "."}, {"items": [{"path": "a.txt"}, {"path": "my-sub/b"}]})
    assert from_workspace(got, "") is got
