"""Single settings are changed in the file that people edit, and nothing else in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from doorward.config.settings import load_settings
from doorward.config.settings.edit import change_settings
from doorward.core.errors import Conflict, Unusable

MINE = """# My settings
[server]   # where it listens
port = 9000

[models]
  default = "house"     # until the other one is faster
fallback = ""

[models.local.small]
file = "/models/small.gguf"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "doorward.toml"


def test_a_value_is_replaced_or_added_and_the_rest_stays(file: Path) -> None:
    file.write_text(MINE)
    change_settings(
        file,
        {
            ("models", "default"): 'a "quoted" name\x7fü\\',
            ("keeper", "model"): "default",
            ("models", "local", "b.c", "file"): "/models/b.gguf",
            ("models", "local", "small", "context"): 4_096,
            ("models", "dollars_per_day"): 2.5,
        },
    )
    found = load_settings(file)
    assert found.models.default == 'a "quoted" name\x7fü\\'
    assert (found.keeper.model, found.models.dollars_per_day) == ("default", 2.5)
    assert {name: one.context for name, one in found.models.local.items()} == {"small": 4_096, "b.c": 8_192}
    text = file.read_text()
    for kept in ("# My settings", "[server]   # where it listens", "port = 9000", 'fallback = ""'):
        assert kept in text
    change_settings(file, {("models", "default"): "house"})
    assert tomllib.loads(file.read_text())["models"]["default"] == "house"


def test_a_link_to_the_settings_stays_a_link(file: Path) -> None:
    real = file.with_name("mine.toml")
    real.write_text(MINE)
    file.symlink_to(real)
    change_settings(file, {("models", "default"): "local:small"})
    assert file.is_symlink()
    assert load_settings(real).models.default == "local:small"


def test_a_missing_file_is_created(file: Path) -> None:
    change_settings(file, {("models", "default"): "local:small"})
    assert load_settings(file).models.default == "local:small"


@pytest.mark.parametrize(
    "text",
    [
        'models = { default = "house" }\n',
        'models.default = "house"\n',
        '[models]\ndefault = """\nhouse"""\n',
        '[server]\nhost = """\n[models]\n"""\n',
    ],
)
def test_a_file_in_another_form_is_left_alone_and_the_error_says_what_to_write(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(Conflict) as refused:
        change_settings(file, {("models", "default"): "local:small"})
    assert 'models.default = "local:small"' in refused.value.hint
    assert file.read_text() == text


def test_an_invalid_file_is_reported_and_left_alone(file: Path) -> None:
    file.write_text("[models]\ndefalt = 5\n")
    with pytest.raises(Unusable, match="defalt"):
        change_settings(file, {("models", "default"): "house"})
    assert file.read_text() == "[models]\ndefalt = 5\n"
    with pytest.raises(Unusable):
        change_settings(file.parent, {("models", "default"): "house"})
