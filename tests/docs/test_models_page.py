"""docs/MODELS.md names what there is, and its settings are valid."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

import msgspec
from console_blocks import ROOT

from doorward.agents.models.model import ModelFault
from doorward.agents.models.registry import INSTALL, ModelRegistry
from doorward.config.settings import Settings

PAGE = (ROOT / "docs" / "MODELS.md").read_text()


def test_the_settings_of_the_page_are_valid_and_its_models_are_found() -> None:
    shown = "\n".join(re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    models = ModelRegistry(msgspec.convert(tomllib.loads(shown), Settings).models, {"ANTHROPIC_API_KEY": "a"})
    assert models.find("default").name == "lan:qwen3:4b"
    assert models.find("groq").name == "groq:llama-3.3-70b-versatile"
    assert models.find("cheap").name == "house"
    assert models.find("dear").name == "anthropic:claude-haiku-4-5"
    assert "local:small" in models.problem("normal"), "the file is not there; the name is known"
    assert [one["provider"] for one in models.providers()] == [
        "house",
        "local",
        "anthropic",
        "lan",
        "groq",
        "cheap",
        "normal",
        "dear",
    ]


def test_every_fault_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE.partition("## When something")[2], re.MULTILINE)) == set(
        get_args(ModelFault)
    )
    assert INSTALL in PAGE
