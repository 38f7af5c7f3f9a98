"""Signatures: only with a secret that is long enough, and each token only for what it was made for."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from doorward.core.errors import NotAuthenticated, Unusable
from doorward.rooms.accounts.token_signer import TokenSigner

KEY = bytes(range(32))
WHO: dict[str, Any] = {"user": "anna", "tenant": "acme", "issued": 1.0, "expires": 2.0}


def test_a_short_secret_signs_nothing() -> None:
    with pytest.raises(Unusable, match="at least 32 bytes; given 31"):
        TokenSigner(KEY[:31])


@pytest.mark.parametrize("use", ["token", "access", "refresh"])
def test_a_token_is_good_for_its_own_use_only(use: Any) -> None:
    signer = TokenSigner(KEY)
    text = signer.sign(use, "1", **WHO)
    claims = signer.verify(text, use)
    assert (claims["jti"], claims["sub"], claims["tenant"], claims["use"]) == ("1", "anna", "acme", use)
    for other in {"token", "access", "refresh"} - {use}:
        with pytest.raises(NotAuthenticated, match="not valid here"):
            signer.verify(text, other)


def test_a_token_from_before_there_were_uses_is_one_that_was_made_on_purpose() -> None:
    signer = TokenSigner(KEY)
    claims = dict(signer.verify(signer.sign("token", "1", **WHO), "token"))
    del claims["use"]
    old = jwt.encode(claims, KEY, algorithm="HS256")
    assert signer.verify(old, "token")["jti"] == "1"
    with pytest.raises(NotAuthenticated):
        signer.verify(old, "access", "refresh")


def test_a_strange_use_is_no_use() -> None:
    signer = TokenSigner(KEY)
    text = jwt.encode({**signer.verify(signer.sign("token", "1", **WHO), "token"), "use": ["token"]}, KEY, "HS256")
    with pytest.raises(NotAuthenticated):
        signer.verify(text, "token", "access", "refresh")
