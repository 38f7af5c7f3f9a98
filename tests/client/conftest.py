"""One real server for each file, and both kinds of client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from flavours import Awaiting, Blocking

from doorward_process import Doorward

WRITING = json.dumps(
    {
        "recipeId": "writing",
        "displayName": "Writing",
        "description": "Writes files, which people approve, and nothing else: it may not even listen to events.",
        "strategy": {
            "aiCommands": {"enabled": True, "whitelist": ["file/write"], "requireApproval": {"file/write": True}}
        },
    }
)


class Served(NamedTuple):
    """A running server, and tokens for it."""

    doorward: Doorward
    url: str
    agent: str
    """An agent's, for the room `general`."""
    person: str
    """The owner's own, as a person."""
    free: str
    """A program's, for the room `free`, where everything may be run."""

    def token(self, name: str, *options: str) -> str:
        return _token(self.doorward, name, *options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    doorward = Doorward(tmp_path_factory.mktemp("client") / "home")
    with doorward.serving() as server:
        assert doorward("rooms", "create", "free", "--recipe=admin").code == 0
        (doorward.folder / "writing.json").write_text(WRITING)
        assert doorward("recipe", "put", "writing.json").code == 0
        assert doorward("rooms", "create", "desk", "--recipe=writing").code == 0
        yield Served(
            doorward,
            f"http://{server.host}:{server.port}",
            agent=_token(doorward, "helper", "--room=general"),
            person=_token(doorward, "myself", "--kind=human", "--access=root"),
            free=_token(doorward, "program", "--kind=service", "--room=free", "--access=full"),
        )


@pytest.fixture(scope="module", params=[Blocking, Awaiting], ids=lambda kind: kind.name)
def flavour(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def client(flavour: Any, served: Served) -> Iterator[Callable[..., Any]]:
    """Makes a client of the server; all are closed at the end."""
    made = []

    def make(token: str = served.agent, room: str = "general", **options: Any) -> Any:
        made.append(flavour.make(served.url, token=token, room=room, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def _token(doorward: Doorward, name: str, *options: str) -> str:
    return str(doorward("token", "create", name, *options).json["result"]["token"])
