"""Stored OAuth tokens: one file for each server, readable by the owner only.

The files are never inside a server's own folder, because its process can read that.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from doorward.config.home import fsync_folder
from doorward.core import strictjson
from doorward.core.errors import Unusable
from doorward.upstream.config import ServerAuth

FOLDER = "upstream-tokens"


class _SecretStruct(msgspec.Struct, frozen=True):
    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class OAuthClient(_SecretStruct, frozen=True):
    """Doorward's client registration at an authorization server."""

    id: str
    secret: str = ""
    method: str = "none"
    """Authentication method for token requests: none, client_secret_basic or client_secret_post."""
    redirect: str = ""
    """The registered redirect URI; empty without a registration."""


class OAuthTokens(_SecretStruct, frozen=True):
    access: str
    refresh: str = ""
    expires: float | None = None
    """Wall-clock time at which the access token expires; None when unknown."""


class StoredLogin(_SecretStruct, frozen=True):
    """The stored login for one server. It belongs to one authorization server and is not used at another."""

    issuer: str = ""
    client: OAuthClient | None = None
    tokens: OAuthTokens | None = None
    scope: str = ""
    """All scopes requested so far."""
    wanted: str = ""
    """Further scopes that the server requires, for the next login by a person."""
    identity: str = ""
    """Hash of the `auth` in the server's entry when this was stored (see `identity`)."""


def hash_identity(auth: ServerAuth | None) -> str:
    """Hash of an entry's `auth`. Tokens stored for another identity are not used: they may have more permissions."""
    if auth is None or auth == ServerAuth(type="oauth"):
        return ""  # the person who logs in
    return hashlib.sha256(msgspec.json.encode(auth)).hexdigest()


class TokenFile:
    """The token file of one server."""

    def __init__(self, home: Path, server: str, url: str) -> None:
        mark = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._file = home / FOLDER / f"{server}-{mark}.json"
        """The URL's hash is part of the name, so an entry with a new URL starts without tokens."""

    def read(self) -> StoredLogin:
        """Read the stored login; empty when the file is missing or invalid."""
        try:
            return msgspec.convert(strictjson.loads(self._file.read_bytes()), StoredLogin)
        except (FileNotFoundError, strictjson.NotJson, msgspec.ValidationError):
            return StoredLogin()
        except OSError as error:
            raise Unusable(f"The tokens in {self._file} cannot be read: {error.strerror}.") from error

    def write(self, kept: StoredLogin) -> None:
        """Write the file atomically, never readable by others."""
        partial = self._file.with_suffix(f".{os.getpid()}.partial")
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
                out.write(msgspec.json.encode(kept))
                out.flush()
                os.fsync(out.fileno())
            partial.rename(self._file)
            fsync_folder(self._file.parent)
        except OSError as error:
            raise Unusable(f"The tokens cannot be written to {self._file}: {error.strerror}.") from error

    def delete(self) -> bool:
        """Delete the file; return whether there was a token."""
        try:
            had = self.read().tokens is not None
        except Unusable:
            had = True  # unknown
        self._file.unlink(missing_ok=True)
        return had
