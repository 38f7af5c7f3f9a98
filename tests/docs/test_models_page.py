"""docs/MODELS.md names what there is, and its settings are valid."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

import msgspec
from console_blocks import ROOT

from doorward.agents.models.model import Fault
from doorward.agents.models.models import INSTALL, Models
from doorward.settings import Settings

PAGE = (ROOT / "docs" / "MODELS.md").read_text()


def test_the_settings_of_the_page_are_valid_and_its_models_are_found() -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    models = Models(msgspec.convert(tomllib.loads(shown), Settings).models, {})
    assert models.find("default").name == "lan:qwen3:4b"
    assert models.find("groq").name == "groq:llama-3.3-70b-versatile"
    assert [one["provider"] for one in models.providers()] == ["house", "lan", "groq"]


def test_every_fault_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE.partition("## When something")[2], re.MULTILINE)) == set(
        get_args(Fault)
    )
    assert INSTALL in PAGE
