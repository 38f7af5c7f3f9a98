"""A signature that was checked once is remembered, and nothing else is let in by that."""

from __future__ import annotations

import pytest

from doorward.core.errors import NotAuthenticated
from doorward.rooms.accounts import token_signer
from doorward.rooms.accounts.token_signer import TokenSigner

KEY = bytes(range(32))


def test_a_token_that_was_read_before_is_no_good_for_another_use():
    signer = TokenSigner(KEY)
    text = signer.sign("refresh", "id", user="anna", tenant="local", issued=1.0, expires=2.0)
    assert signer.verify(text, "refresh")["jti"] == "id"
    with pytest.raises(NotAuthenticated, match="only be exchanged for an access token"):
        signer.verify(text, "token", "access")


def test_a_token_that_was_read_before_does_not_let_another_pass():
    signer = TokenSigner(KEY)
    text = signer.sign("token", "id", user="anna", tenant="local", issued=1.0, expires=2.0)
    signer.verify(text, "token")
    for other in (text[:-1] + ("A" if text[-1] != "A" else "B"), text + " ", text.upper(), text[:-1], f"{text}."):
        with pytest.raises(NotAuthenticated):
            signer.verify(other, "token")


def test_only_so_many_good_tokens_are_remembered(monkeypatch):
    monkeypatch.setattr(token_signer, "_MAX_CACHED", 3)
    signer = TokenSigner(KEY)
    texts = [signer.sign("token", str(n), user="anna", tenant="local", issued=1.0, expires=2.0) for n in range(10)]
    for _ in range(2):
        assert [signer.verify(text, "token")["jti"] for text in texts] == [str(n) for n in range(10)]
    assert len(signer._verified) == 3
