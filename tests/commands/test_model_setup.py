"""People choose the default model and add files; the settings file and the running server follow at once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from conforming import conforms
from doorward.agents.models.server_discovery import ServerProgram
from doorward.config.home import Home
from doorward.config.settings import LocalModelSettings, ModelSettings, SandboxSettings, Settings, load_settings

pytestmark = pytest.mark.anyio
MODEL = b"GGUF" + (3).to_bytes(4, "little") + bytes(16) + b"weights" * 40_000
"""A file with a valid, empty header."""
SUM = hashlib.sha256(MODEL).hexdigest()


@contextlib.asynccontextmanager
async def served(
    *pieces: bytes,
    length: int | None = None,
    status: str = "200 OK",
    more: str = "",
    after_first: tuple[asyncio.Event, asyncio.Event] | None = None,
) -> AsyncIterator[str]:
    """The address of a file on a server that sends these bytes and hangs up.

    After the first piece it sets the first event of `after_first`, and waits for the second.
    """

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            size = sum(map(len, pieces)) if length is None else length
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {size}\r\n{more}\r\n".encode())
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                if after_first is not None:
                    after_first[0].set()
                    await after_first[1].wait()
        writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/files/Small%20Model.Q4.gguf"
    finally:
        server.close()


@contextlib.asynccontextmanager
async def ollama() -> AsyncIterator[ServerProgram]:
    """A server with the two lists of Ollama."""
    models = {"object": "list", "data": [{"id": "qwen3:4b", "object": "model", "owned_by": "library"}]}
    tags = {"models": [{"name": "qwen3:4b", "size": 2_500_000_000, "details": {"parameter_size": "4.0B"}}]}

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asked = await reader.readuntil(b"\r\n\r\n")
            text = json.dumps(tags if b"/api/tags" in asked else models).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(text) + text)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield ServerProgram("ollama", "Ollama", server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def failed(driver: Any, command: str, **params: Any) -> Any:
    """How the owner's call fails."""
    outcome = await driver.ask(command, by="", room="", params=params)
    assert outcome.status == "failed", outcome
    return outcome


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An account without models, keys and servers."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "DOORWARD_GGUF"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def test_a_model_of_a_server_that_runs_here_becomes_the_default_at_once(opened: Any, home: Home) -> None:
    async with ollama() as program, opened() as driver:
        setup = driver.house.models.setup
        setup.programs = (program,)
        found = await driver.owner("model/find")
        conforms(driver, "model/find", found)
        item = found.result["items"][1]
        assert (item["name"], item["bytes"], item["parameters"]) == ("ollama:qwen3:4b", 2_500_000_000, 4_000_000_000)
        other = await failed(driver, "model/use", model="ollama:qwen3:8b")
        assert "valid: ollama:qwen3:4b" in other.message
        used = await driver.owner("model/use", model="ollama:qwen3:4b")
        conforms(driver, "model/use", used)
        assert used.result["was"] == "house"
        assert any("guide (house)" in note for note in used.result["notes"])
        assert driver.house.models.find("default").name == "ollama:qwen3:4b"
        assert driver.house.services.settings.keeper.model == "default"
        again = (await driver.owner("model/find")).result
        assert [one["name"] for one in again["items"] if one["isDefault"] and one["configured"]] == ["ollama:qwen3:4b"]
        assert again["keeper"] == "default"
    written = load_settings(home.settings)
    assert written.models.providers["ollama"].base_url == f"http://127.0.0.1:{program.port}/v1"
    assert not written.models.providers["ollama"].needs_key
    async with opened() as driver:
        assert driver.house.models.find("default").name == "ollama:qwen3:4b"
        assert (await driver.owner("model/use", model="house")).result["was"] == "ollama:qwen3:4b"
        listed = (await driver.owner("model/find")).result["items"]
        assert [one["name"] for one in listed if one["isDefault"]] == ["house"]


async def test_a_service_with_a_key_is_used_by_its_name_and_the_key_stays_out_of_the_settings(
    opened: Any, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-secret-0123456789")
    async with opened() as driver:
        driver.house.models.setup.programs = ()
        found = (await driver.owner("model/find")).result
        assert found["keys"] == [{"variable": "GROQ_API_KEY", "provider": "groq", "configured": False}]
        used = await driver.owner("model/use", model="groq:llama-3.3-70b-versatile")
        assert any("another machine" in note for note in used.result["notes"])
        assert "gsk-secret" not in json.dumps([found, used.result, await driver.ledger()])
    assert "gsk-secret" not in home.settings.read_text()
    assert load_settings(home.settings).models.providers["groq"].key_env == "GROQ_API_KEY"


@pytest.mark.parametrize("model", ["nobody:m", "ollama:qwen3:4b", "default", "local:none", "groq:llama"])
async def test_a_model_that_is_not_there_is_not_used(opened: Any, home: Home, model: str) -> None:
    async with opened() as driver:
        driver.house.models.setup.programs = ()
        assert (await failed(driver, "model/use", model=model)).code == "bad_params"
        assert not home.settings.exists()


async def test_a_file_is_added_and_nothing_that_is_not_a_model(opened: Any, home: Home, tmp_path: Path) -> None:
    file = tmp_path / "Qwen 3 (4B).GGUF"
    file.write_bytes(MODEL)
    (tmp_path / "words.gguf").write_text("words")
    async with opened() as driver:
        added = await driver.owner("model/add", source=str(file), sha256=SUM.upper())
        conforms(driver, "model/add", added)
        assert (added.result["model"], added.result["sha256"]) == ("local:qwen-3-4b", SUM)
        assert "local:qwen-3-4b" in driver.house.models.names()
        for params, wrong in (
            ({"source": str(tmp_path / "words.gguf")}, "not a GGUF file"),
            ({"source": str(tmp_path)}, "not a regular file"),
            ({"source": "/nowhere/x.gguf"}, "No such file"),
            ({"source": "x.gguf"}, "absolute path"),
            ({"source": str(file), "name": "Bad Name"}, "lower-case"),
            ({"source": str(file), "name": "../x"}, "lower-case"),
            ({"source": str(file), "name": "two", "sha256": "0" * 64}, "another checksum"),
            ({"source": str(file), "name": "two", "sha256": "0"}, "64 hexadecimal"),
            ({"source": str(file)}, "local:qwen-3-4b already"),
            ({"source": "http://models.example/x.gguf"}, "only over https"),
            ({"source": "file:///etc/passwd"}, "not a valid URL"),
            ({"source": "https://me:secret@models.example/x.gguf"}, "not a valid URL"),
        ):
            outcome = await failed(driver, "model/add", **params)
            assert wrong in outcome.message, (params, outcome.message)
    assert list(load_settings(home.settings).models.local) == ["qwen-3-4b"]


async def test_a_download_appears_when_it_is_whole(opened: Any, home: Home) -> None:
    async with opened() as driver, served(MODEL[:3], MODEL[3:1_000], MODEL[1_000:]) as address:
        added = await driver.owner("model/add", source=address, sha256=SUM)
        assert added.status == "done", added
        file = home.path / "models" / "small-20model.q4.gguf"
        assert added.result["file"] == str(file)
        assert file.read_bytes() == MODEL
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        refused = await failed(driver, "model/add", source=address, name="small-20model.q4")
        assert "already" in refused.message


@pytest.mark.parametrize(
    ("server", "params", "wrong"),
    [
        ({"pieces": [MODEL], "length": len(MODEL) + 9}, {}, "downloaded"),
        ({"pieces": [b"<html>", MODEL]}, {}, "letters GGUF"),
        ({"pieces": [b"GG"]}, {}, "too short"),
        ({"pieces": [b"GGUF" + b"\xff" * 60]}, {}, "version"),
        ({"pieces": [MODEL]}, {"sha256": "0" * 64}, "another checksum"),
        ({"pieces": [MODEL], "status": "404 Not Found"}, {}, "status 404"),
        ({"pieces": [MODEL], "more": "content-encoding: gzip\r\n"}, {}, "compresses"),
        ({"pieces": [MODEL[:10]], "length": 10**14}, {}, "not enough space"),
        ({"pieces": [b""], "status": "302 Found", "more": "location: http://10.0.0.1/x\r\n"}, {}, "10.0.0.1"),
    ],
    ids=["cut", "html", "short", "damaged", "checksum", "404", "gzip", "large", "redirect"],
)
async def test_a_failed_download_leaves_nothing_behind(
    opened: Any, home: Home, server: dict[str, Any], params: dict[str, Any], wrong: str
) -> None:
    async with opened() as driver, served(*server.pop("pieces"), **server) as address:
        (home.path / "models").mkdir()
        (home.path / "models" / "old.gguf.part").write_bytes(b"left by a crash")
        outcome = await failed(driver, "model/add", source=address, **params)
        assert wrong in outcome.message, outcome.message
        assert list((home.path / "models").iterdir()) == []
        assert not home.settings.exists()


async def test_a_cancelled_download_leaves_nothing_behind_and_the_next_one_works(opened: Any, home: Home) -> None:
    stalled = asyncio.Event()
    begun = asyncio.Event()
    async with opened() as driver, served(MODEL[:1_000], MODEL[1_000:], after_first=(begun, stalled)) as address:
        adding = asyncio.create_task(failed(driver, "model/add", source=address))
        async with asyncio.timeout(60):
            await begun.wait()
            second = await failed(driver, "model/add", source="https://models.example/b.gguf")
            assert "Another model is being added" in second.message
            running = next(iter(driver.house.services.executions))
            await driver.owner("execution/cancel", execution=running.id)
            assert (await adding).code == "cancelled"
        assert list((home.path / "models").iterdir()) == []
        stalled.set()
        assert (await driver.owner("model/add", source=address)).result["sha256"] == SUM


async def test_a_disk_that_must_stay_free_is_not_filled(opened: Callable[..., Any], home: Home) -> None:
    changes = Settings(sandbox=SandboxSettings(keep_free_bytes=10**15))
    async with opened(changes=changes) as driver, served(MODEL) as address:
        assert "not enough space" in (await failed(driver, "model/add", source=address)).message


async def test_settings_that_a_command_cannot_change_are_left_alone(opened: Any, home: Home, tmp_path: Path) -> None:
    home.create()
    home.settings.write_text('models.default = "house"\n')
    async with opened() as driver:
        outcome = await failed(driver, "model/use", model="house")
        assert outcome.code == "conflict"
        assert 'keeper.model = "default"' in outcome.hint
    assert home.settings.read_text() == 'models.default = "house"\n'


async def test_only_people_of_the_house_with_all_rights_may_do_it(driver: Any) -> None:
    for command, params in (("model/find", {}), ("model/use", {"model": "house"}), ("model/add", {"source": "/x"})):
        assert (await driver.ask(command, params=params)).status == "refused"


async def test_a_local_model_that_was_replaced_is_unloaded(opened: Any, tmp_path: Path) -> None:
    async with opened() as driver:
        models = driver.house.models
        models.configure(ModelSettings(local={"a": LocalModelSettings(file="/a.gguf")}))
        first = models.local_models()[0]
        models.configure(ModelSettings(default="local:a", local={"a": LocalModelSettings(file="/a.gguf")}))
        assert models.local_models()[0] is first, "it would have to be loaded again"
        models.configure(ModelSettings(local={"a": LocalModelSettings(file="/b.gguf")}))
        assert models.local_models()[0] is not first
