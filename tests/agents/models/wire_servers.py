"""Servers of others that speak the wires of OpenAI and Anthropic: `@copilotkit/aimock` on Node, and `fakellm`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doorward.agents.models.registry import ModelRegistry
from doorward.config.settings import ModelSettings as Limits
from doorward.config.settings import ProviderSettings
from node_peers import NODE, package

AIMOCK = "@copilotkit/aimock"
KEY = "sk-key-of-the-wire-tests"
_ADDRESS = re.compile(r"(?:listening|running) on (http://127\.0\.0\.1:\d+)")


@contextlib.contextmanager
def aimock(folder: Path, fixtures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Its address. It takes only requests that carry `KEY`."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": list(fixtures)}))
    program = [str(NODE), str(package(AIMOCK) / "dist" / "cli.js")]
    with _started([*program, "--port", "0", "--fixtures", str(file), "--strict"], {"AIMOCK_API_KEYS": KEY}) as address:
        yield address


@contextlib.contextmanager
def fakellm(folder: Path, rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    file = folder / "fakellm.yaml"
    file.write_text(json.dumps({"version": 1, "rules": list(rules)}))
    program = [sys.executable, "-m", "uvicorn", "fakellm.server:app", "--port", "0"]
    with _started(program, {"FAKELLM_CONFIG": str(file)}) as address:
        yield address


@contextlib.contextmanager
def _started(program: list[str], environment: dict[str, str]) -> Iterator[str]:
    """A program that says where it listens; it is ended at the end, and never waited for longer than that takes."""
    told = {**environment, "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    with subprocess.Popen(program, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if found := _ADDRESS.search(line):
                    yield found[1]
                    return
            raise AssertionError(f"{program[0]} ended instead of listening:\n{''.join(lines)}")
        finally:
            process.kill()


def models_at(address: str, **more: Any) -> ModelRegistry:
    """A house's models at one of these servers: `o:NAME` on OpenAI's wire and `a:NAME` on Anthropic's."""
    return ModelRegistry(
        Limits(
            providers={
                "o": ProviderSettings(kind="openai", base_url=f"{address}/v1", key_env="WIRE_KEY", **more),
                "a": ProviderSettings(kind="anthropic", base_url=address, key_env="WIRE_KEY", **more),
            }
        ),
        {"WIRE_KEY": KEY},
    )
