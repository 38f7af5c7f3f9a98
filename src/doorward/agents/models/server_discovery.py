"""Find the model servers that run on this machine, on their usual ports.

Any program can listen there, so only a server that answers as the protocol says counts. No key is sent, no redirect is
followed, and no other host is asked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.core import strictjson
from doorward.core.errors import Unreachable
from doorward.upstream.http_client import HttpClient
from doorward.upstream.outbound import OutboundPolicy

HOST = "127.0.0.1"
SECONDS = 2.0
"""Time limit for one server."""
MODEL_NAME = re.compile(r"[\x21-\x7e]{1,200}")
_MAX_ANSWER = 1_000_000
_MAX_MODELS = 100
_MAX_COUNT = 2**53


class ServerProgram(msgspec.Struct, frozen=True):
    """A program that serves models."""

    id: str
    """The name of its provider in the settings, such as `ollama`."""
    title: str
    port: int


PROGRAMS = (
    ServerProgram("ollama", "Ollama", 11_434),
    ServerProgram("llamacpp", "llama.cpp", 8_080),
    ServerProgram("lmstudio", "LM Studio", 1_234),
    ServerProgram("vllm", "vLLM", 8_000),
)


class ServedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a server offers, as far as the server says."""

    id: str
    bytes: int = 0
    parameters: int = 0
    context: int = 0


class FoundServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answered on one of the ports."""

    program: ServerProgram
    port: int
    models: tuple[ServedModel, ...] = ()
    problem: str = ""
    """Why it cannot be used, as a sentence; empty if it speaks the protocol."""

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def base_url(self) -> str:
        return f"http://{self.address}/v1"


async def find_servers(
    programs: Sequence[ServerProgram] = PROGRAMS, seconds: float = SECONDS
) -> tuple[FoundServer, ...]:
    """Ask all ports at the same time. A port on which nothing listens is left out."""
    found = await asyncio.gather(*(_ask_server(one, seconds) for one in programs))
    return tuple(one for one in found if one is not None)


async def _ask_server(program: ServerProgram, seconds: float) -> FoundServer | None:
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(HOST, program.port)
            writer.close()
    except (OSError, TimeoutError):
        return None
    try:
        async with asyncio.timeout(seconds):
            models = await _read_models(program.port)
            if isinstance(models, str):
                return FoundServer(program=program, port=program.port, problem=models)
            sizes = await _read_ollama_sizes(program.port) if program.id == "ollama" else {}
    except TimeoutError:
        return FoundServer(
            program=program, port=program.port, problem=f"A program answered nothing within {seconds:g} seconds."
        )
    owner = next((one for one in PROGRAMS if one.id == models[0]), program)
    served = tuple(_merge(one, sizes.get(one.id)) for one in models[1])
    return FoundServer(program=owner, port=program.port, models=served)


async def _read_models(port: int) -> tuple[str, list[ServedModel]] | str:
    """Return who serves the models, and the models; or why this is no model server, as a sentence."""
    status, value = await _get(port, "/v1/models")
    if status in (401, 403):
        return "A program wants a key. If it serves models, add it to models.providers with key_env."
    entries = value.get("data") if isinstance(value, dict) and value.get("object") == "list" else None
    if status != 200 or not isinstance(entries, list):
        return "A program listens here that is not a model server: it has no list of models at /v1/models."
    models, owner = [], ""
    for one in entries[:_MAX_MODELS]:
        if not isinstance(one, dict) or not isinstance(one.get("id"), str) or not MODEL_NAME.fullmatch(one["id"]):
            continue
        owner = owner or (one["owned_by"] if isinstance(one.get("owned_by"), str) else "")
        meta = one["meta"] if isinstance(one.get("meta"), dict) else {}
        models.append(
            ServedModel(
                id=one["id"],
                bytes=_count(meta.get("size")),
                parameters=_count(meta.get("n_params")),
                context=_count(meta.get("n_ctx")) or _count(one.get("max_model_len")),
            )
        )
    if entries and not models:
        return "A program listens here whose list of models cannot be read."
    return owner, models


async def _read_ollama_sizes(port: int) -> dict[str, ServedModel]:
    """Return what Ollama says of its models beyond their names."""
    status, value = await _get(port, "/api/tags")
    entries = value.get("models") if status == 200 and isinstance(value, dict) else None
    found = {}
    for one in entries[:_MAX_MODELS] if isinstance(entries, list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            details = one["details"] if isinstance(one.get("details"), dict) else {}
            found[one["name"]] = ServedModel(
                id=one["name"],
                bytes=_count(one.get("size")),
                parameters=parse_count(details.get("parameter_size")),
            )
    return found


def _merge(model: ServedModel, more: ServedModel | None) -> ServedModel:
    if more is None:
        return model
    return msgspec.structs.replace(
        model, bytes=model.bytes or more.bytes, parameters=model.parameters or more.parameters
    )


async def _get(port: int, path: str) -> tuple[int, Any]:
    """Return the status and the JSON value of an answer; None for anything that is not JSON."""
    url = f"http://{HOST}:{port}{path}"
    client = HttpClient(OutboundPolicy(), url)
    try:
        answer = await client.request("GET", url, _HEADERS, follow=False)
        return answer.status, strictjson.loads(await answer.read_all(_MAX_ANSWER))
    except (Unreachable, strictjson.NotJson):
        return 0, None
    finally:
        client.close()


_HEADERS: Mapping[str, str] = {"Accept": "application/json", "Connection": "close"}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_COUNT else 0


def parse_count(label: object) -> int:
    """Return the number in a label such as `1.5B` or `8x7B`; 0 for others."""
    if not isinstance(label, str) or len(label) > 20:
        return 0
    times, _, each = label.strip().rpartition("x")
    try:
        unit = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}[each[-1:].upper()]
        count = float(each[:-1]) * unit * (int(times) if times else 1)
    except (KeyError, ValueError, OverflowError):
        return 0
    return int(count) if 0 < count < _MAX_COUNT else 0
