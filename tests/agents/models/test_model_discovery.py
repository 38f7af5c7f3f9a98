"""Model servers on this machine: a real one, and programs that only listen on the same ports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import tiny_gguf

from doorward.agents.models.registry import ModelRegistry
from doorward.agents.models.server_discovery import FoundServer, ServerProgram, find_servers
from doorward.cli.models_line import describe_models
from doorward.config.settings import ModelSettings, ProviderSettings

pytestmark = pytest.mark.anyio
SECRET = "sk-secret-of-the-environment-012345"
SERVER = """
import sys, threading, xllamacpp
given = xllamacpp.CommonParams()
given.model.path, given.n_ctx, given.n_parallel, given.port = sys.argv[1], 2048, 1, 0
given.hostnames = ["127.0.0.1"]
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
given.offline, given.ui, given.warmup, given.verbosity = True, False, False, 0
server = xllamacpp.Server(given)
print("listening", server.listening_address, flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def llamacpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real server of llama.cpp, with a model that says the alphabet."""
    file = tiny_gguf.write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    program = [sys.executable, "-c", SERVER, str(file)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            line = next((line for line in process.stdout if line.startswith("listening")), "")
            yield int(line.rpartition(":")[2])
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def listener(*answers: bytes) -> AsyncIterator[tuple[ServerProgram, list[bytes]]]:
    """A program that answers every request with the same bytes, and what it was sent. Without bytes it is silent."""
    heard: list[bytes] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            for answer in answers:
                writer.write(answer)
            await writer.drain()
            if not answers:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield ServerProgram("vllm", "vLLM", server.sockets[0].getsockname()[1]), heard
    finally:
        server.close()


def reply(body: object, status: str = "200 OK", more: str = "") -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n{more}\r\n"
    return head.encode() + text


def entries(*ids: object) -> dict[str, object]:
    return {"object": "list", "data": [{"id": one, "object": "model"} for one in ids]}


async def test_a_real_server_is_found_described_and_tested_before_it_is_configured(
    llamacpp: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    programs = (ServerProgram("vllm", "vLLM", llamacpp), ServerProgram("ollama", "Ollama", 1))
    (found,) = await find_servers(programs)
    assert found.program.id == "llamacpp", "it says itself what it is"
    (served,) = found.models
    assert (served.context, served.parameters > 50_000, served.bytes > 200_000) == (2_048, True, True)
    registry = ModelRegistry(ModelSettings(), {"HOME": str(tmp_path), "OPENAI_API_KEY": SECRET})
    registry.setup.programs = programs
    listed = await registry.setup.find()
    names = {one["name"]: one for one in listed["items"]}
    item = names[f"llamacpp:{served.id}"]
    assert (item["kind"], item["configured"], item["price"]) == ("server", False, {"input": 0.0, "output": 0.0})
    assert names["openai:gpt-4o-mini"]["price"] == {"input": 0.15, "output": 0.6}
    assert [one["variable"] for one in listed["keys"]] == ["OPENAI_API_KEY"]
    assert SECRET not in json.dumps(listed)
    tried = await registry.trial(item["name"])
    assert tried["answers"], tried
    assert [one["check"] for one in tried["checks"]] == [
        "answers from a result",
        "calls a tool",
        "says when it does not know",
    ]
    assert not tried["checks"][0]["right"], "the alphabet is no answer"
    wrong = await registry.trial("llamacpp:other")
    assert not wrong["answers"]
    assert served.id in wrong["said"]
    line = await describe_models({"GROQ_API_KEY": SECRET}, programs)
    assert f"llama.cpp at 127.0.0.1:{llamacpp} with {served.id[:60]}" in line
    assert "GROQ_API_KEY" in line
    assert SECRET not in line
    known = ModelSettings(providers={"mine": ProviderSettings(base_url=f"http://localhost:{llamacpp}/v1")})
    other = ModelRegistry(known, {"HOME": str(tmp_path)})
    other.setup.programs = programs
    assert f"mine:{served.id}" in [one["name"] for one in (await other.setup.find())["items"] if one["configured"]]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (reply({"hello": "world"}), "not a model server"),
        (reply(b"<html>nginx</html>"), "not a model server"),
        (reply({"object": "list", "data": "x"}), "not a model server"),
        (reply({"object": "page", "data": []}), "not a model server"),
        (reply(entries("a"), "404 Not Found"), "not a model server"),
        (reply(entries("a"), "302 Found", "location: http://127.0.0.1:1/\r\n"), "not a model server"),
        (reply({"error": "key"}, "401 Unauthorized"), "wants a key"),
        (reply(entries("a\u202eb", 5, "x" * 500, "")), "cannot be read"),
        (b"SSH-2.0-OpenSSH\r\n", "not a model server"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n" + b" " * 5_000_000, "not a model server"),
        (reply(b"[" * 100_000), "not a model server"),
        (reply(b'{"object": "list", "data": [{"id": "a", "id": "b"}]}'), "not a model server"),
    ],
    ids=["json", "html", "text", "page", "404", "redirect", "key", "names", "ssh", "long", "deep", "twice"],
)
async def test_another_program_on_the_port_is_not_taken_for_a_model_server(answer: bytes, problem: str) -> None:
    async with listener(answer) as (program, heard):
        (found,) = await find_servers([program])
        assert problem in found.problem
        assert not found.models
        assert all(b"authorization" not in one.lower() for one in heard)


async def test_a_silent_program_is_left_after_a_while_and_a_closed_port_at_once() -> None:
    async with listener() as (program, _):
        silent = await find_servers([program, ServerProgram("ollama", "Ollama", 1)], seconds=0.2)
        assert [one.problem for one in silent] == ["A program answered nothing within 0.2 seconds."]


async def test_only_so_many_models_of_a_server_are_listed_with_safe_names() -> None:
    async with listener(reply(entries(*(f"m{number}" for number in range(500)), "bad name"))) as (program, _):
        (found,) = await find_servers([program])
        assert len(found.models) == 100
        assert isinstance(found, FoundServer)
        line = await describe_models({}, (program,))
        assert "with m0 and 99 more" in line


async def test_two_servers_of_a_kind_get_names_of_their_own() -> None:
    async with listener(reply(entries("a"))) as (first, _), listener(reply(entries("b"))) as (second, _):
        registry = ModelRegistry(ModelSettings(), {"HOME": "/nonexistent"})
        registry.setup.programs = (first, second)
        names = [one["name"] for one in (await registry.setup.find())["items"]]
        assert names == ["house", "vllm:a", f"vllm-{second.port}:b"]
