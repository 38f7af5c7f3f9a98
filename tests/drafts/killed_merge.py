"""Merges a draft in a house of its own, and kills itself at one step of the merge."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from doorward.app import open_house
from doorward.commands import workspace_changes
from doorward.config.home import Home
from doorward.core.model import Credential, Outcome, Request
from doorward.store import drafts as sql


async def main(home: str, project: str, step: int) -> None:
    async with open_house(Home(Path(home))) as house:

        async def ask(command: str, by: str = "", /, room: str = "app", **params: object) -> Outcome:
            credential = Credential(owner=True, speak_as=by)
            request = Request(command=command, credential=credential, door="test", room=room, params=params)
            outcome = await house.gate.handle(request)
            assert outcome.status == "done", outcome
            return outcome

        await ask("room/create", room="", name="app", recipe="coding", workspace=project)
        await ask(
            "bash", "claude", command="for n in 1 2 3 4; do echo new > $n.txt; done; rm old.txt; echo more >> kept.txt"
        )
        kill_at(step)
        await ask("draft/merge")


def kill_at(step: int) -> None:
    """Die before the step with this number: storing that a merge began, each path, and storing that it ended."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done > step:
            os.kill(os.getpid(), signal.SIGKILL)

    restore, set_merging = workspace_changes.restore, sql.set_merging

    def counted_restore(*given: object) -> None:
        count()
        restore(*given)  # type: ignore[arg-type]

    def counted_set_merging(id: str, call: str) -> object:
        count()
        return set_merging(id, call)

    workspace_changes.restore = counted_restore  # type: ignore[attr-defined, assignment]
    sql.set_merging = counted_set_merging  # type: ignore[assignment]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
