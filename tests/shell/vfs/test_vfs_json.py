"""JSON that is written into a record or piped into a word of the shell is read strictly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from doorward.core.errors import BadParams
from doorward.shell.builtins.data import parse_piped_json
from doorward.shell.builtins.options import UsageError
from doorward.shell.vfs.data_mount import parse_record
from json_texts import FORBIDDEN, OURS_REFUSED

REFUSED = [text.decode("utf-8", "surrogateescape") for text in (*FORBIDDEN, *(text for text, _ in OURS_REFUSED))]


def test_a_record_is_written_as_strict_json() -> None:
    assert parse_record("/data/notes/n1", '{"title": "Milk"}') == {"title": "Milk"}
    for text in REFUSED:
        with pytest.raises(BadParams, match=r"^/data/notes/n1 is a record and must be written as"):
            parse_record("/data/notes/n1", text)


def test_json_that_is_piped_in_is_strict() -> None:
    def read(text: str) -> Any:
        return parse_piped_json(cast("Any", SimpleNamespace(piped=text)))

    assert read("[1]") == [1]
    for text in REFUSED:
        with pytest.raises(UsageError, match=r"^(the piped input is not JSON|the piped input is missing)"):
            read(text)
