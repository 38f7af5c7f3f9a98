"""Sign tokens (JWT), and verify them strictly."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from typing import Any, Literal

from doorward.core.errors import NotAuthenticated, Unusable

ISSUER = "doorward"
AUDIENCE = "doorward"
TokenUse = Literal["token", "access", "refresh"]
"""`token` is created explicitly and is long-lived; `access` and `refresh` come from a login."""

_ALGORITHM = "HS256"
_MIN_KEY = 32
_MAX_TOKEN = 8_192
_MAX_CACHED = 4_096
_REQUIRED_CLAIMS = ("iss", "aud", "sub", "jti", "iat", "exp", "tenant")
_ERROR_REASONS = {
    "InvalidAudienceError": "it has another audience",
    "InvalidIssuerError": "it has another issuer",
    "InvalidAlgorithmError": "it is signed with another algorithm",
    "InvalidSignatureError": "its signature is not this server's",
    "MissingRequiredClaimError": "a required claim is missing",
}
"""Messages for the library's error classes."""
_WRONG_USE = {
    "token": "it is an API token, and a refresh token is required",
    "access": "it is an access token, and a refresh token is required",
    "refresh": "it is a refresh token, which can only be exchanged for an access token",
}


class TokenSigner:
    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY:
            raise Unusable(f"The signing secret of tokens has at least {_MIN_KEY} bytes; given {len(key)}.")
        self._key = key
        self._verified: dict[bytes, Mapping[str, Any]] = {}
        """Verified claims by token hash, because verifying costs more than a whole call. Revocation and expiry are
        checked every time."""

    def sign(
        self, use: TokenUse, id: str, *, user: str, tenant: str, issued: float, expires: float, **more: Any
    ) -> str:
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
        return str(_import_jwt().encode(claims, self._key, algorithm=_ALGORITHM))

    def verify(self, text: str, *uses: TokenUse) -> Mapping[str, Any]:
        """Return the verified claims of a token for one of these uses. Expiry and revocation are not checked here."""
        mark = self.cache_key(text)
        claims = self._verified.get(mark)
        if claims is None:
            claims = self._verified[mark] = self._verify(text)
            if len(self._verified) > _MAX_CACHED:
                del self._verified[next(iter(self._verified))]
        use = claims["use"]
        if use not in uses:
            raise NotAuthenticated(f"This token is not valid here: {_WRONG_USE.get(str(use), 'its use is unknown')}.")
        return claims

    def find_id(self, text: str) -> str:
        """Return the id of a token or session that a text belongs to; empty if it is none."""
        try:
            return str(self.verify(text, "token", "access")["jti"]) if text else ""
        except NotAuthenticated:
            return ""

    @staticmethod
    def cache_key(text: str) -> bytes:
        """Return the hash under which a possible token is cached."""
        if len(text) > _MAX_TOKEN or not text.isascii() or "=" in text:
            raise NotAuthenticated("This is not a Doorward token.")
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def _verify(self, text: str) -> Mapping[str, Any]:
        jwt = _import_jwt()
        try:
            header = jwt.get_unverified_header(text)
            if set(header) - {"alg", "typ"}:
                raise NotAuthenticated("This token is not valid: its header has unexpected fields.")
            claims: dict[str, Any] = jwt.decode(
                text,
                self._key,
                algorithms=[_ALGORITHM],
                issuer=ISSUER,
                audience=AUDIENCE,
                options={"require": list(_REQUIRED_CLAIMS), "verify_exp": False, "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            why = _ERROR_REASONS.get(type(error).__name__, "it is not a Doorward token")
            raise NotAuthenticated(f"This token is not valid: {why}.") from error
        claims.setdefault("use", "token")
        return claims


def _import_jwt() -> Any:
    """Import the library on first use, so that callers without a token do not wait for it."""
    return importlib.import_module("jwt")
