"""What Doorward keeps to be let in by a server: a file for each, readable by the owner only.

It lies beside the folders of servers and never in one, since a server of our own making sees its folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from doorward import strictjson
from doorward.errors import Unusable
from doorward.home import sync_folder
from doorward.upstream.config import Auth

FOLDER = "upstream-tokens"


class _Secret(msgspec.Struct, frozen=True):
    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Client(_Secret, frozen=True):
    """Who we are to an authorization server."""

    id: str
    secret: str = ""
    method: str = "none"
    """How a request for a token shows it: none, client_secret_basic or client_secret_post."""
    redirect: str = ""
    """Where people were to come back to when we registered; empty when we did not."""


class Tokens(_Secret, frozen=True):
    access: str
    refresh: str = ""
    expires: float | None = None
    """When the access token ends, by the wall clock; None when nobody said."""


class Kept(_Secret, frozen=True):
    """All of it belongs to one authorization server, and is of no use at another."""

    issuer: str = ""
    client: Client | None = None
    tokens: Tokens | None = None
    scope: str = ""
    """Everything that was asked for so far."""
    wanted: str = ""
    """What a server wanted beyond that when there was nobody to ask."""
    identity: str = ""
    """Who the entry of the server said we are when this was kept, as a hash (see `identity`)."""


def identity(auth: Auth | None) -> str:
    """Who an entry says we are. What is kept for another is not used: it may reach further than the operator means."""
    if auth is None or auth == Auth(type="oauth"):
        return ""  # whoever logs in
    return hashlib.sha256(msgspec.json.encode(auth)).hexdigest()


class TokenFile:
    """Where the tokens for one server are kept."""

    def __init__(self, home: Path, server: str, url: str) -> None:
        mark = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._file = home / FOLDER / f"{server}-{mark}.json"
        """The address is part of the name: an entry that leads elsewhere later starts without the tokens."""

    def read(self) -> Kept:
        """What is kept; nothing when there is no file, or none that can be read."""
        try:
            return msgspec.convert(strictjson.loads(self._file.read_bytes()), Kept)
        except (FileNotFoundError, strictjson.NotJson, msgspec.ValidationError):
            return Kept()
        except OSError as error:
            raise Unusable(f"The tokens in {self._file} cannot be read: {error.strerror}.") from error

    def write(self, kept: Kept) -> None:
        """Whole or not at all, and never readable by others, not even while it is written."""
        partial = self._file.with_suffix(f".{os.getpid()}.partial")
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
                out.write(msgspec.json.encode(kept))
                out.flush()
                os.fsync(out.fileno())
            partial.rename(self._file)
            sync_folder(self._file.parent)
        except OSError as error:
            raise Unusable(f"The tokens cannot be written to {self._file}: {error.strerror}.") from error

    def forget(self) -> bool:
        """Whether there was a token among what is forgotten."""
        try:
            had = self.read().tokens is not None
        except Unusable:
            had = True  # nobody can tell
        self._file.unlink(missing_ok=True)
        return had
