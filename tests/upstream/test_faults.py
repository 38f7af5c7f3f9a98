"""Each misbehaviour of a server costs its caller one clear error, and a caller of another server notices nothing."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from faulty import Yard, config, echo, yard

from doorward.core.errors import CommandFailed, DoorwardError, TimedOut, Unreachable
from doorward.upstream.calls import CallHooks, QuestionAnswer, ServerQuestion
from doorward.upstream.config import ServerConfig
from doorward.upstream.resilience import Timer
from doorward.upstream.server import ServerClient
from waiting import PATIENCE, until


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Yard]:
    async with yard(tmp_path) as made:
        yield made


async def failure(server: ServerClient, within: float = PATIENCE) -> DoorwardError:
    """The one error of a call."""
    with pytest.raises(DoorwardError) as caught:
        await echo(server, within=within)
    return caught.value


async def beside(place: Yard, faulty: ServerClient, within: float) -> DoorwardError:
    """The one error of a call to the faulty server, while another server goes on answering all the time."""
    healthy = place.server(id="healthy")
    await place.until(lambda: faulty.state == "ready")
    await echo(healthy)
    trouble = asyncio.ensure_future(failure(faulty, within))
    answered = 0
    while not trouble.done():
        assert await echo(healthy, f"still {answered}") == f"still {answered}"
        answered += 1
    assert healthy.stats().failures == 0
    assert answered > 0
    return await trouble


async def test_a_server_that_never_answers_a_call_costs_its_timeout_and_no_more(place: Yard) -> None:
    server = place.server("--no-answer")
    error = await beside(place, server, 0.3)
    assert isinstance(error, TimedOut)
    assert error.message == "The server faulty did not answer tools/call within 0.3 seconds."
    assert server.state == "ready"


async def test_a_server_that_never_answers_anything_is_not_ready_in_its_time(place: Yard) -> None:
    server = place.server("--mute", start_seconds=0.6)
    error = await failure(server)
    assert isinstance(error, Unreachable)
    assert "did not start within 0.6 seconds" in error.message
    assert server.state == "waiting"


async def test_a_server_that_answers_garbage_fails_that_call_at_once(place: Yard) -> None:
    for flag in ("--garbage", "--bad-answer"):
        server = place.server(flag, id=flag[2:])
        error = await beside(place, server, PATIENCE) if flag == "--garbage" else await failure(server)
        assert isinstance(error, Unreachable)
        assert "with an invalid response" in error.message
        assert server.stats().faults == 1


async def test_a_server_that_answers_twice_or_writes_banners_is_counted_and_heard(place: Yard) -> None:
    server = place.server("--twice", "--banner")
    assert [await echo(server, text) for text in ("one", "two")] == ["one", "two"]
    assert server.stats().faults >= 4  # the banner, its own line of each call, and the second answer to the first
    await until(lambda: any("Welcome to the fault server" in line for line in server.log))


async def test_a_server_that_answers_under_another_id_answers_nobody(place: Yard) -> None:
    server = place.server("--other-id")
    error = await beside(place, server, 0.3)
    assert isinstance(error, TimedOut)
    assert server.stats().faults == 1


async def test_a_line_over_the_limit_ends_the_connection_and_is_never_kept(place: Yard) -> None:
    server = place.server("--flood", str(400 * 1024 * 1024))
    await place.until(lambda: server.state == "ready")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = await beside(place, server, PATIENCE)
    assert isinstance(error, Unreachable)
    assert error.message == "The server faulty wrote a line of more than 16777216 bytes, which is the limit."
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 64 * 1024 * 1024


async def test_a_server_that_writes_nonsense_without_end_is_ended(place: Yard) -> None:
    error = await beside(place, place.server("--nonsense"), PATIENCE)
    assert isinstance(error, Unreachable)
    assert "writes lines that are not MCP messages: 'nonsense'" in error.message


async def test_a_server_that_talks_much_is_heard_out_and_holds_nobody_up(place: Yard) -> None:
    server = place.server("--chatter", "1500", "--complain-much", "3000")
    healthy = place.server(id="healthy")
    assert await asyncio.gather(echo(server), echo(healthy)) == ["hello", "hello"]
    await until(lambda: len(server.log) == 500)


async def test_a_server_that_dies_in_a_call_fails_that_call_and_is_there_for_the_next(place: Yard) -> None:
    marker = place.home / "servers" / "faulty" / "died"
    server = place.server("--die-once", str(marker))
    error = await beside(place, server, PATIENCE)
    assert isinstance(error, Unreachable)
    assert error.message == "The server faulty ended with exit code 3."
    assert await echo(server, "again") == "again"
    assert server.stats().restarts == 1


async def test_a_server_that_restarts_with_other_tools_offers_those(place: Yard) -> None:
    folder = place.home / "servers" / "faulty"
    folder.mkdir(parents=True)
    names = folder / "tools"
    names.write_text("echo other")
    server = place.server("--tools-from", str(names), "--die-once", str(folder / "died"))
    await place.until(lambda: server.state == "ready")
    before = server.definitions
    names.write_text("echo new")
    await failure(server)
    await echo(server)
    assert [[one.name for one in some] for some in (before, server.definitions)] == [["echo", "other"], ["echo", "new"]]
    assert before[0].digest == server.definitions[0].digest


async def test_a_server_that_exits_at_once_is_waited_for_longer_each_time_and_then_not_at_all(place: Yard) -> None:
    waits: list[float] = []

    def timer(seconds: float, ring: Callable[[], None]) -> Timer:
        waits.append(seconds)
        loop = asyncio.get_running_loop()
        return loop.call_soon(ring) if len(waits) < 5 else loop.call_later(3_600, ring)

    asked = config("faulty", "--exit", "7", "--complain", "no \x1b[31mhome")
    server = place.made(asked, chance=lambda: 0.0, timer=timer)
    first = await failure(server)
    await place.until(lambda: server.state == "broken")
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0]
    words = "The server faulty ended with exit code 7; its last output: no \\u001b[31mhome."
    for error in (first, await failure(server), await failure(server)):
        assert isinstance(error, Unreachable)
        assert error.message.startswith(f"{words} The next attempt is in ")
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 8.0
    assert server.problem == words


@pytest.mark.parametrize(
    ("complaint", "words"),
    [
        (
            "loader:13\n  throw err;\n\nError: Cannot find module 'x'\n    at f (y:1)\n  code: 'A'\n}\n\nNode.js v22.",
            "'x'",
        ),
        ("Traceback:\n  File x\nshop.errors.StockError: none left\n\nbye", "shop.errors.StockError: none left"),
        ("starting\nwarehouse not found\nbye", "warehouse not found"),
        ("one\ntwo\nthree\nfour", "two / three / four"),
    ],
)
async def test_what_a_server_ended_of_is_told_and_not_just_its_last_line(
    place: Yard, complaint: str, words: str
) -> None:
    error = await failure(place.made(config("faulty", "--exit", "1", "--complain", complaint)))
    told = error.message.partition("its last output: ")[2].partition(". The next attempt")[0]
    assert told.endswith(words)
    assert "Node.js" not in told


async def test_a_program_that_is_not_there_is_named(place: Yard) -> None:
    server = place.made(ServerConfig(id="faulty", name="faulty", command="/nowhere/at-all"))
    error = await failure(server)
    assert "/nowhere/at-all" in error.message


@pytest.mark.parametrize("flag", ["--ignore-term", "--grandchild", "--mute", "--deaf"])
async def test_nothing_is_left_of_a_server_that_does_not_want_to_end(place: Yard, flag: str) -> None:
    server = place.server(flag)
    if flag != "--mute":
        await place.until(lambda: server.state == "ready")
    await place.running()
    await server.stop()
    assert place.processes() == []
    assert server.state == "stopped"


async def test_a_server_that_closes_its_output_and_lives_on_is_ended(place: Yard) -> None:
    error = await failure(place.server("--close-output"))
    assert isinstance(error, Unreachable)
    assert error.message == "The server faulty closed its output but did not end."


async def test_of_ten_thousand_tools_two_thousand_are_offered_and_the_rest_is_counted(place: Yard) -> None:
    server = place.server("--tools", "9999")
    healthy = place.server(id="healthy")
    await place.until(lambda: server.state == "ready")
    assert len(server.definitions) == 2_000
    assert "2000 tools are offered, and 8000 more are left out" in server.problem
    assert [await echo(server), await echo(healthy)] == ["hello", "hello"]


async def test_a_list_in_pages_is_read_to_its_end_and_one_that_goes_in_circles_is_left(place: Yard) -> None:
    paged = place.server("--tools", "250", "--page", "100", id="paged")
    circles = place.server("--tools", "10", "--page", "5", "--repeat-cursor", id="circles")
    await place.until(lambda: {paged.state, circles.state} == {"ready"})
    assert len(paged.definitions) == 251
    assert "returned an invalid cursor" in circles.problem


async def test_definitions_that_are_none_or_come_twice_are_left_out(place: Yard) -> None:
    server = place.server("--same-name")
    await place.until(lambda: server.state == "ready")
    assert [one.name for one in server.definitions] == ["echo"]
    for clause in ("1 of the tools is left out: each must be an object", "'same'", "'bare' is left out"):
        assert clause in server.problem


async def test_a_server_without_a_list_of_tools_is_of_no_use(place: Yard) -> None:
    error = await failure(place.server("--list-garbage"))
    assert "answered tools/list without a list of tools" in error.message


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_sampling_is_refused_unless_the_operator_allows_it(place: Yard, era: str) -> None:
    asked: list[ServerQuestion] = []

    async def model(wanted: ServerQuestion) -> QuestionAnswer:
        asked.append(wanted)
        return QuestionAnswer(action="accept", content={"role": "assistant", "content": {"type": "text", "text": "42"}})

    hooks = CallHooks(ask=model)
    refused = place.server("--ask", "sampling", "--era", era)
    if era == "handshake":
        result = await refused.call("echo", {}, hooks, PATIENCE)
        assert "sampling is not enabled" in result.content[0]["text"]
    else:
        with pytest.raises(CommandFailed, match="sampling is not enabled"):
            await refused.call("echo", {}, hooks, PATIENCE)
    assert asked == []
    allowed = place.server("--ask", "sampling", "--era", era, id="allowed", sampling=True)
    result = await allowed.call("echo", {}, hooks, PATIENCE)
    assert '"text": "42"' in result.content[0]["text"]
    assert [wanted.kind for wanted in asked] == ["sampling"]


async def test_an_error_of_a_server_is_told_without_the_secrets_that_it_was_given(place: Yard) -> None:
    secret = "s3cr3t-value"
    flags = ("--show", "API_KEY", "--complain", f"starting with {secret}")
    server = place.server(*flags, env={"API_KEY": secret}, secrets=(secret,))
    error = await failure(server)
    assert isinstance(error, CommandFailed)
    assert "it went wrong with [redacted]" in error.message
    await until(lambda: any("starting with [redacted]" in line for line in server.log))
    told = " ".join((error.message, *server.log, str(server.stats()), server.problem))
    assert secret not in told
