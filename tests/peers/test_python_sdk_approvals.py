"""The official Python client and what needs a person's approval: asked at the client, or decided elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CallToolResult, ElicitResult, TextContent
from peer_house import NEW, OLD, PeerHouse, Way


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


class Person:
    """Sits at the client and says the same to every question."""

    def __init__(self, action: Any) -> None:
        self.action = action
        self.asked: list[str] = []

    async def answer(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action=self.action, content={} if self.action == "accept" else None)


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_person_at_the_client_is_shown_what_would_run_and_it_runs_on_a_yes(peers: PeerHouse, era: str) -> None:
    person, file = Person("accept"), f"yes-{era}.txt"
    async with Way(peers, "stdio", era).client(elicitation_callback=person.answer) as client:
        result = await client.call_tool("file_write", {"path": file, "content": "approved\n"})
    assert not result.is_error, said(result)
    assert (peers.workspace / file).read_text() == "approved\n"
    (question,) = person.asked
    assert "file/write" in question
    assert file in question
    assert "approved" in question


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_nothing_runs_on_a_no(peers: PeerHouse, era: str) -> None:
    person, file = Person("decline"), f"no-{era}.txt"
    async with Way(peers, "stdio", era).client(elicitation_callback=person.answer) as client:
        result = await client.call_tool("file_write", {"path": file, "content": "not approved\n"})
    assert result.is_error
    assert len(person.asked) == 1
    assert not (peers.workspace / file).exists()


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_an_agents_own_token_is_asked_nothing_and_approves_nothing(peers: PeerHouse, era: str) -> None:
    person, file = Person("accept"), f"itself-{era}.txt"
    async with Way(peers, "http", era).client(elicitation_callback=person.answer) as client:
        result = await client.call_tool("file_write", {"path": file, "content": "by itself\n"})
    assert result.is_error
    assert not person.asked
    assert not (peers.workspace / file).exists()


async def test_without_anybody_to_ask_the_call_waits_and_goes_on_once_a_person_approved_elsewhere(way: Way) -> None:
    file = f"later-{way.transport}-{way.era}.txt"
    async with way.client() as client:
        waits = await client.call_tool("file_write", {"path": file, "content": "later\n"})
        assert waits.is_error
        ticket = (waits.meta or {})["doorward/ticket"]
        assert f"doorward approvals approve {ticket}" in said(waits)
        assert not (way.house.workspace / file).exists()
        approved = way.house.doorward("approvals", "approve", ticket)
        assert approved.code == 0, approved.err
        result = await client.call_tool("resume_approved", {"ticket": ticket})
    assert not result.is_error, said(result)
    assert (way.house.workspace / file).read_text() == "later\n"
