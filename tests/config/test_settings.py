from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import doorward.config.settings
from doorward.config.settings import Settings, find_home_folder, load_settings
from doorward.core.errors import Unusable


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "doorward.toml"


def test_without_a_file_the_defaults_hold(file: Path) -> None:
    assert load_settings(file) == Settings()


def test_a_file_changes_what_it_names_and_nothing_else(file: Path) -> None:
    file.write_text('[server]\nport = 9\n[data.databases]\nshop = "sqlite:///shop.db"\n')
    read = load_settings(file)
    assert read.server.port == 9
    assert read.data.databases == {"shop": "sqlite:///shop.db"}
    assert read.server.host == "127.0.0.1"
    assert read.limits == Settings().limits


def test_the_public_address_of_earlier_versions_is_still_read(file: Path) -> None:
    file.write_text('[mcp]\npublic_url = "https://door.example"\npage = 5\n')
    read = load_settings(file)
    assert (read.server.public_url, read.mcp.page) == ("https://door.example", 5)


def test_every_setting_has_a_type_a_default_and_a_sentence() -> None:
    tables = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    files = Path(doorward.config.settings.__file__).parent.glob("*.py")
    said: dict[str, list[str]] = {}
    for node in (node for file in files for node in ast.parse(file.read_text()).body):
        if isinstance(node, ast.ClassDef):
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    sentence = after.value if isinstance(after, ast.Expr) else None
                    assert field.value is not None, field.target.id
                    if node.name != "Settings":
                        assert isinstance(sentence, ast.Constant), f"{node.name}.{field.target.id}"
                        assert str(sentence.value).endswith("."), f"{node.name}.{field.target.id}"
                    said.setdefault(node.name, []).append(field.target.id)
    for table in tables.values():
        assert said[table.__name__] == [field.name for field in msgspec.structs.fields(table)]


@pytest.mark.parametrize(
    "text",
    [
        "port = 1",
        "[server]\nnope = 1",
        "[server]\nport = '1'",
        "[server]\nport = true",
        "[server]\nport = -1",
        "[server]\nport = 1.0",
        "[server]\nhost = 1",
        "[limits]\nrunning = 0",
        "[limits]\nrunning = -5",
        "[limits]\nqueued = -1",
        "[limits]\nloop_repeats = 1",
        "[limits]\nloop_seconds = 0",
        "[limits]\nloop_seconds = nan",
        "[limits]\nloop_seconds = inf",
        "[limits]\nresult_hours = inf",
        "[energy]\nstart = nan",
        "[energy]\nfloor = -inf",
        "[energy]\nceiling = inf",
        "[energy]\nper_second = -1",
        "[energy]\nper_second = nan",
        "[energy]\nenabled = 1",
        "[approvals]\nuse_within = nan",
        "[approvals]\nuse_within = 0",
        "[ledger]\nrotate_at = 1",
        "[data]\ndatabases = []",
        "[data.databases]\na = 1",
        "[server]\n[server]",
        "[server",
        "= 1",
        "a",
        "\ufeff[server]",
        "a = " + "[" * 5_000,
        "a = " + "9" * 5_000,
        "a = 1979-05-32",
    ],
    ids=ascii,
)
def test_a_file_that_is_not_valid_is_refused_by_name(text: str, file: Path) -> None:
    """A limit that is not a number would limit nothing, so it is refused as well."""
    file.write_text(text)
    with pytest.raises(Unusable, match="is not valid") as refusal:
        load_settings(file)
    assert str(file) in refusal.value.message
    assert refusal.value.hint


@settings(suppress_health_check=list(HealthCheck), max_examples=200)
@given(text=st.binary(max_size=60) | st.text("[]=\n.'\"serverpot019{},# ", max_size=60).map(str.encode))
def test_any_bytes_give_settings_or_a_sentence(text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "any.toml"
    file.write_bytes(text)
    try:
        assert isinstance(load_settings(file), Settings)
    except Unusable as refusal:
        said = refusal.message
    else:
        return
    assert "is not valid" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[mcp]\npage_size = 10",
            "the setting mcp.page_size is unknown; did you mean 'page'? Valid: room, elicitation,",
        ),
        ("[mpc]\npage = 10", "the table [mpc] is unknown; did you mean 'mcp'? Valid: server, limits,"),
        ("[mcp]\nzzzzz = 10", "the setting mcp.zzzzz is unknown; valid: room, elicitation,"),
        ('[mcp]\ntools = "lots"', "mcp.tools must be one of 'all', 'auto', 'search'; given 'lots'."),
        ('[server]\nport = "x"', "server.port must be a whole number from 0 to 65,535; given 'x'."),
        ("[ledger]\nrotate_at = 1", "ledger.rotate_at must be a whole number of at least 1,000; given 1."),
        ("[limits]\nloop_seconds = 0", "limits.loop_seconds must be a number above 0 and at most 86,400; given 0."),
        ("[line]\nopen = 1", "line.open must be true or false; given 1."),
        ("[server]\nallowed_hosts = 'a'", "server.allowed_hosts must be a list of texts; given 'a'."),
        ("server = 1", "server must be a table; given 1."),
        ("[data.databases]\na = 1", "data.databases.a must be a text; given 1."),
        ("[models.providers.good]\n[models.providers.bad]\nkey = 'x'", "models.providers.bad.key is unknown; "),
        ("[models.providers.house]", "models.providers has the name 'house', which must match ^("),
    ],
)
def test_a_fault_says_which_setting_what_would_be_valid_and_what_was_given(text: str, says: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(Unusable, match=re.escape(says)):
        load_settings(file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "doorward.toml").mkdir()
    with pytest.raises(Unusable, match="cannot be read: Is a directory"):
        load_settings(tmp_path / "doorward.toml")


def test_the_home_folder_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOORWARD_HOME", str(tmp_path / "named"))
    assert find_home_folder() == tmp_path / "named"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOORWARD_HOME", "relative")
    assert find_home_folder() == tmp_path / "relative"
    monkeypatch.delenv("DOORWARD_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_home_folder() == tmp_path / ".doorward"
    monkeypatch.setenv("DOORWARD_HOME", "")
    assert find_home_folder() == tmp_path / ".doorward"


def test_a_home_folder_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORWARD_HOME", "/tmp/h\udcffme")
    with pytest.raises(Unusable, match="is not UTF-8 text"):
        find_home_folder()
    monkeypatch.delenv("DOORWARD_HOME")
    monkeypatch.setenv("HOME", "/tmp/h\udcffme")
    with pytest.raises(Unusable, match="is not UTF-8 text"):
        find_home_folder()
