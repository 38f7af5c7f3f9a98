"""Secrets in output are hidden, wherever the output is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from doorward.sandbox.output_filter import OutputFilter

SECRETS = (b"aab", b"abaab")


@given(some.lists(some.text("abc", max_size=6).map(str.encode), max_size=8))
def test_no_secret_passes_whatever_the_pieces_are_and_nothing_else_is_lost(pieces: list[bytes]) -> None:
    output = OutputFilter(SECRETS)
    shown = b"".join([*map(output.hide, pieces), output.finish()])
    assert not any(secret in shown for secret in SECRETS)
    whole = b"".join(pieces)
    if not any(secret in whole for secret in SECRETS):
        assert shown == whole
