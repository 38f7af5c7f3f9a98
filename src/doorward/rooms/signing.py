"""The signature under every token of this house, and the strict reading of what claims to carry it."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from typing import Any, Literal

from doorward.errors import NotAuthenticated, Unusable

ISSUER = "doorward"
AUDIENCE = "doorward"
Use = Literal["token", "access", "refresh"]
"""`token` was made on purpose and lasts; `access` and `refresh` are what a password is exchanged for."""

_ALGORITHM = "HS256"
_SHORTEST_KEY = 32
_LONGEST = 8_192
_MOST_REMEMBERED = 4_096
_CLAIMS = ("iss", "aud", "sub", "jti", "iat", "exp", "tenant")
_WHY = {
    "InvalidAudienceError": "it is meant for somebody else",
    "InvalidIssuerError": "it was issued by somebody else",
    "InvalidAlgorithmError": "it is not signed as Doorward signs",
    "InvalidSignatureError": "its signature is not this house's",
    "MissingRequiredClaimError": "it leaves out what every token says",
}
"""What is wrong with a token, in our words, by what the library calls it."""
_WRONG_USE = {
    "token": "it is a token to act with, and none that is exchanged for another",
    "access": "it is an access token, and none that is exchanged for another",
    "refresh": "it is a refresh token, which is only exchanged for another",
}


class Signer:
    def __init__(self, key: bytes) -> None:
        if len(key) < _SHORTEST_KEY:
            raise Unusable(f"Tokens are signed with a secret of at least {_SHORTEST_KEY} bytes; given {len(key)}.")
        self._key = key
        self._verified: dict[bytes, Mapping[str, Any]] = {}
        """Claims under a good signature, by the hash of their token: checking one again and again costs more than a
        whole call. Whether the token was revoked or has expired is asked anew each time."""

    def sign(self, use: Use, id: str, *, user: str, tenant: str, issued: float, expires: float, **more: Any) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": user,
            "tenant": tenant,
            "jti": id,
            "iat": int(issued),
            "exp": int(expires),
            "use": use,
            **more,
        }
        return str(_jwt().encode(claims, self._key, algorithm=_ALGORITHM))

    def claims(self, text: str, *uses: Use) -> Mapping[str, Any]:
        """What a token of ours claims, if it is one for one of these uses. Whether it still holds is for others."""
        mark = self.mark(text)
        claims = self._verified.get(mark)
        if claims is None:
            claims = self._verified[mark] = self._verify(text)
            if len(self._verified) > _MOST_REMEMBERED:
                del self._verified[next(iter(self._verified))]
        use = claims["use"]
        if use not in uses:
            raise NotAuthenticated(f"This token is not valid here: {_WRONG_USE.get(str(use), 'its use is unknown')}.")
        return claims

    @staticmethod
    def mark(text: str) -> bytes:
        """The hash of what may be a token, by which it is remembered."""
        if len(text) > _LONGEST or not text.isascii() or "=" in text:
            raise NotAuthenticated("This is not a Doorward token.")
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def _verify(self, text: str) -> Mapping[str, Any]:
        jwt = _jwt()
        try:
            header = jwt.get_unverified_header(text)
            if set(header) - {"alg", "typ"}:
                raise NotAuthenticated("This token is not valid: its header holds more than Doorward writes.")
            claims: dict[str, Any] = jwt.decode(
                text,
                self._key,
                algorithms=[_ALGORITHM],
                issuer=ISSUER,
                audience=AUDIENCE,
                options={"require": list(_CLAIMS), "verify_exp": False, "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            why = _WHY.get(type(error).__name__, "it is none of Doorward's")
            raise NotAuthenticated(f"This token is not valid: {why}.") from error
        claims.setdefault("use", "token")
        return claims


def _jwt() -> Any:
    """The library, once a token is made or shown: whoever comes in without one shall not wait for it."""
    return importlib.import_module("jwt")
