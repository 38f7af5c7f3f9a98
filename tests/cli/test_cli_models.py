"""`doorward models`, as a person uses it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from doorward_process import Doorward

MODEL = b"GGUF" + (3).to_bytes(4, "little") + bytes(16) + b"weights" * 40_000


@pytest.fixture(scope="module")
def house(shared: Doorward) -> Doorward:
    """A home that was just created, for an account with one file of a model."""
    folder = Path(shared.env["HOME"]) / "models"
    folder.mkdir(parents=True)
    (folder / "Small.gguf").write_bytes(MODEL)
    made = shared("init")
    line = next(line for line in made.out.splitlines() if line.strip().startswith("models "))
    assert re.search(r"models +house \(built in\);.* 1 GGUF file; doorward models shows more", line)
    return shared


def test_models_are_found_added_and_made_the_default(house: Doorward) -> None:
    shown = house.on_terminal("doorward models").out
    assert re.search(r"\* +house +this process .* free", shown)
    assert re.search(r"\(file\) +~/models/Small\.gguf +280 kB", shown)
    assert "doorward models add ~/models/Small.gguf" in shown
    total = hashlib.sha256(MODEL).hexdigest()
    added = house.on_terminal(f"cd models; doorward models add Small.gguf --sha256 {total}")
    assert added.code == 0, added.out
    assert "Added local:small: ~/models/Small.gguf (280 kB, context 8192 tokens)." in added.out
    used = house.on_terminal("doorward models use local:small").out
    assert "The default model is local:small now; it was house." in used
    assert "guide (house)" in used
    listed = house("models", "list").json["result"]
    assert [one["name"] for one in listed["items"] if one["isDefault"]] == ["local:small"]
    assert (listed["default"], listed["keeper"]) == ("local:small", "default")
    back = house.on_terminal("doorward models use house")
    assert "it was local:small" in back.out
    config = (house.home / "doorward.toml").read_text()
    assert config.count("default = ") == 1


def test_a_test_says_right_or_wrong_and_its_exit_code_too(house: Doorward) -> None:
    shown = house.on_terminal("doorward models test house")
    assert shown.code == 0
    assert "right  answers" in shown.out
    assert "house: 1 of 1 right." in shown.out
    absent = house.on_terminal("doorward models test nobody:m")
    assert absent.code == 1
    assert "nobody:m does not answer: There is no provider for the model" in absent.out


def test_what_cannot_be_added_or_used_is_said_in_words(house: Doorward) -> None:
    for line, wrong in (
        ("add /etc/hostname", "is not a GGUF file"),
        ("add http://models.example/x.gguf", "only over https"),
        ("use nobody:m", "There is no provider for the model 'nobody:m'"),
    ):
        ended = house.on_terminal(f"doorward models {line}")
        assert ended.code != 0
        assert wrong in ended.out
        assert "Traceback" not in ended.out
