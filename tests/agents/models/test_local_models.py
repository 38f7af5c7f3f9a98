"""Models in GGUF files: a real file, the real library, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from doorward.agents.models import local as finding
from doorward.agents.models.local import LocalModel
from doorward.agents.models.model import AnswerPiece, ChatTurn, ModelFailed, Prompt, TextPiece, TokenUsage
from doorward.agents.models.registry import ModelRegistry
from doorward.agents.models.timeouts import IdleTimeout
from doorward.config.settings import LocalModelSettings, Settings
from doorward.config.settings import ModelSettings as Limits
from doorward.core.model import Credential, Request

pytestmark = pytest.mark.anyio
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.write(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module")
async def model(anyio_backend: str, file: Path) -> AsyncIterator[LocalModel]:
    made = LocalModel("tiny", LocalModelSettings(file=str(file), threads=1, context=1_024, temperature=0), Limits())
    yield made
    await made.close()


def prompt(most: int, words: str = "Say the alphabet.") -> Prompt:
    return Prompt(instructions="", turns=(ChatTurn(role="user", text=words, speaker="me"),), most_tokens=most)


async def said(model: LocalModel, given: Prompt) -> str:
    return "".join([piece.text async for piece in model.answer(given) if isinstance(piece, TextPiece)])


async def to_the_end(pieces: AsyncIterator[AnswerPiece]) -> None:
    async for _ in pieces:
        pass


async def ended(process: int) -> None:
    """Wait until a process is gone; 0 is none."""
    if not process:
        return
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def test_it_answers_in_pieces_and_tells_its_own_count_of_tokens(model: LocalModel) -> None:
    pieces = [piece async for piece in model.answer(prompt(30))]
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert "".join(texts) == (ALPHABET * 2)[:30]
    assert len(texts) > 10
    spent = pieces[-1]
    assert isinstance(spent, TokenUsage)
    assert spent.output_tokens == 30
    assert model.count("abc") < spent.input_tokens < 100
    assert model.memory > 1_000_000
    assert not model.is_remote


async def test_tokens_are_counted_by_its_tokenizer_and_never_too_few_before_it_is_loaded(
    model: LocalModel, file: Path
) -> None:
    await model.load()
    unloaded = LocalModel("other", LocalModelSettings(file=str(file)), Limits())
    for text in ("", "a", "three blanks in it", "wörter und 漢字", "<s>"):
        assert model.count(text) <= unloaded.count(text)
    assert model.count("abcdefgh") - model.count("abcd") == 4


async def test_an_answer_that_is_left_ends_and_the_next_is_whole(model: LocalModel) -> None:
    before = model.process
    async with contextlib.aclosing(model.answer(prompt(900))) as pieces:
        async for _ in pieces:
            break
    assert await said(model, prompt(5)) == "abcde"
    assert before in (0, model.process), "it was not loaded again"


async def test_reading_what_it_is_shown_is_a_sign_of_life(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    signs: list[None] = []
    monkeypatch.setattr(IdleTimeout, "extend", lambda _: signs.append(None))
    before_words = {}
    for words in ("short", "w" * 800):
        signs.clear()
        async for piece in model.answer(prompt(3, words)):
            if isinstance(piece, TextPiece):
                before_words[words] = before_words.get(words) or len(signs)
    assert before_words["w" * 800] > before_words["short"], before_words


async def test_a_sign_of_life_lets_the_silence_begin_anew_but_not_the_whole_answer() -> None:
    life, now = IdleTimeout(), asyncio.get_running_loop().time
    life.extend()
    async with life.start(50, now() + 100) as limit:
        limit.reschedule(now() + 1)
        life.extend()
        assert now() + 1 < (limit.when() or 0) <= now() + 50
    end = now() + 20
    async with life.start(50, end) as limit:
        life.extend()
        assert limit.when() == end
    life.extend()


async def test_requests_are_answered_one_after_the_other(model: LocalModel) -> None:
    answers = await asyncio.gather(*(said(model, prompt(count)) for count in (20, 3, 12)))
    assert answers == [ALPHABET[:20], ALPHABET[:3], ALPHABET[:12]]


async def test_what_is_longer_than_its_context_is_refused_with_both_numbers(model: LocalModel) -> None:
    with pytest.raises(ModelFailed, match=r"exceeds the available context size \(1024 tokens\)") as failure:
        await said(model, prompt(5, "word " * 1_000))
    assert failure.value.fault == "bad_answer"


def listens_at_a_port(process: int) -> bool:
    facts = Path(f"/proc/{process}")
    held = set()
    for one in (facts / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            held.add(os.readlink(one))
    lines = [line.split() for one in ("tcp", "tcp6") for line in (facts / "net" / one).read_text().splitlines()[1:]]
    return any(f"socket:[{line[9]}]" in held for line in lines)


def known_of(process: int) -> tuple[set[str], str]:
    """The variables in the environment of a process, and all that others on this machine can see of it."""
    facts = Path(f"/proc/{process}")
    environment = (facts / "environ").read_text()
    names = {one.partition("=")[0] for one in environment.split("\0") if one}
    return names, environment + (facts / "cmdline").read_text()


async def test_it_is_reached_only_at_a_private_socket_and_only_with_its_key(model: LocalModel) -> None:
    await model.load()
    process = model._process
    assert process is not None
    assert stat.S_IMODE(os.stat(os.path.dirname(process.socket)).st_mode) == 0o700
    assert not listens_at_a_port(process.pid)
    with contextlib.closing(http.client.HTTPConnection("localhost")) as asked:
        asked.sock = socket.socket(socket.AF_UNIX)
        asked.sock.connect(process.socket)
        asked.request("POST", "/v1/chat/completions", b"{}", {"Content-Type": "application/json"})
        assert asked.getresponse().status == 401
    names, visible = known_of(process.pid)
    assert names <= {"PATH", "HOME", "LC_CTYPE"}
    assert process.key not in visible


async def test_a_process_that_dies_is_said_and_the_next_request_has_a_new_one(model: LocalModel) -> None:
    await model.load()
    first = model.process
    pieces = model.answer(prompt(900))
    await anext(pieces)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(ModelFailed, match="The process of the model local:tiny ended"):
        await to_the_end(pieces)
    assert await said(model, prompt(3)) == "abc"
    assert model.process not in (0, first)


async def test_it_ends_with_whoever_started_it_and_leaves_nothing_behind(model: LocalModel) -> None:
    await model.load()
    held = model._process
    assert held is not None
    assert held._process is not None
    assert held._process.stdin is not None
    process, folder = model.process, os.path.dirname(held.socket)
    held._process.stdin.close()  # as when Doorward is killed
    await ended(process)
    with pytest.raises(FileNotFoundError):
        os.listdir(folder)


async def test_loading_that_is_given_up_ends_its_process(file: Path) -> None:
    model = LocalModel("given-up", LocalModelSettings(file=str(file), temperature=0, context=512), Limits())
    loading = asyncio.ensure_future(model.load())
    while model._process is None:  # noqa: ASYNC110 - it is set in between, and nothing tells of that
        await asyncio.sleep(0)
    begun = model._process
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert not begun.alive
    assert (model.process, model.loaded) == (0, False)


async def test_it_is_put_away_when_nobody_asks_it(file: Path) -> None:
    model = LocalModel(
        "idle", LocalModelSettings(file=str(file), temperature=0, context=512, idle_minutes=0.0005), Limits()
    )
    assert await said(model, prompt(2)) == "ab"
    await ended(model.process)
    assert (model.memory, model.loaded) == (0, False)
    await model.close()
    with pytest.raises(ModelFailed, match="Doorward is stopping"):
        await said(model, prompt(2))


def broken(name: str, folder: Path, whole: Path) -> LocalModelSettings:
    damaged = folder / "damaged.gguf"
    damaged.write_bytes(whole.read_bytes()[:200_000] if name == "cut" else b"GIF89a" * 100)
    files = {"missing": str(folder / "none.gguf"), "relative": "tiny.gguf", "folder": str(folder)}
    return LocalModelSettings(file=files.get(name, str(damaged)))


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("missing", "unknown", "The file of the model local:x cannot be read: No such file or directory."),
        (
            "relative",
            "unknown",
            "must be an absolute path, such as /models/small.gguf; given 'tiny.gguf'.",
        ),
        ("folder", "unknown", "is not a GGUF file: those begin with the letters GGUF."),
        ("picture", "unknown", "is not a GGUF file: those begin with the letters GGUF."),
        ("cut", "down", "The model local:x cannot be loaded: its file is damaged or of an unknown kind"),
    ],
)
async def test_a_file_that_cannot_be_loaded_is_said(
    name: str, fault: str, words: str, tmp_path: Path, file: Path
) -> None:
    model = LocalModel("x", broken(name, tmp_path, file), Limits())
    with pytest.raises(ModelFailed) as failure:
        await said(model, prompt(3))
    assert failure.value.fault == fault
    assert words in failure.value.message
    assert model.process == 0


async def test_too_little_memory_is_said_before_anything_is_loaded(file: Path) -> None:
    model = LocalModel("x", LocalModelSettings(file=str(file)), Limits(), available=lambda: 1_000)
    with pytest.raises(ModelFailed, match="not enough memory for the model local:x: its file has 0 MB, and 0 MB"):
        await said(model, prompt(3))


async def test_without_the_packages_the_command_that_installs_them_is_said(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "is_installed", lambda: False)
    models = ModelRegistry(Limits(local={"x": LocalModelSettings(file=str(file))}), {})
    with pytest.raises(ModelFailed, match=r"run: pip install 'doorward\[local,models\]'") as failure:
        models.find("local:x")
    assert failure.value.fault == "not_installed"
    assert "doorward[local,models]" in models.providers()[1]["problem"]


def test_only_files_that_the_settings_or_the_environment_name_are_models(file: Path) -> None:
    models = ModelRegistry(Limits(), {"DOORWARD_GGUF": str(file)})
    assert models.find("local").name == models.find("local:gguf").name == "local:gguf"
    assert models.providers()[1]["model"] == "gguf"
    assert str(file) in models.providers()[1]["where"]
    for name in (f"local:{file}", "local:other"):
        with pytest.raises(ModelFailed, match=r"valid: local:gguf\. Add one with a table `models\.local\.NAME`"):
            models.find(name)
    with pytest.raises(ModelFailed, match="valid: none"):
        ModelRegistry(Limits(), {}).find("local")


async def test_the_keeper_runs_a_command_with_a_model_in_a_file_and_answers(opened: Any, file: Path) -> None:
    tiny = LocalModelSettings(file=str(file), threads=1, context=16_384, temperature=0, small="off")
    async with opened(changes=Settings(models=Limits(local={"tiny": tiny}))) as driver:
        steps: list[Any] = []
        request = Request(
            command="agent/ask",
            credential=Credential(owner=True),
            door="test",
            room="",
            params={"prompt": "how many rooms?", "model": "local"},
        )
        answer = await driver.house.gate.handle(request, steps.append)
        listed = (await driver.owner("model/list")).result
    assert answer.result["response"] == tiny_gguf.ANSWER
    assert answer.result["success"]
    assert answer.result["model"] == "local:tiny"
    assert [one["status"] for one in answer.result["toolCalls"]] == ["done"]
    assert answer.result["notes"] == [], "nothing left this machine"
    kinds = [one.data.get("state", "") for one in steps if getattr(one, "kind", "") == "thinking"]
    assert kinds == ["", "loading", ""]
    assert "loaded, " in next(one["where"] for one in listed["items"] if one["model"] == "tiny")
