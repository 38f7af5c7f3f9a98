"""Provider keys, read from the environment or a private file, never from the settings."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from doorward.agents.models.model import ModelFailed
from doorward.agents.models.provider import Provider

_LONGEST = 4_096


def key_of(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return the provider's current key, or an empty text if none is needed. Raises `ModelFailed` if it is missing."""
    setting = provider.settings
    if setting.key_file:
        found, where = _from_file(provider, Path(setting.key_file)), "the key file"
    else:
        found, where = environment.get(provider.variable, "").strip(), f"the environment variable {provider.variable}"
    if not found:
        if not setting.needs_key:
            return ""
        raise ModelFailed(
            "not_allowed",
            f"The provider {provider.name} needs a key, and {where} holds none. Set it where Doorward is started.",
        )
    if len(found) > _LONGEST or not found.isascii() or not found.isprintable() or " " in found:
        raise ModelFailed(
            "not_allowed",
            f"The key of the provider {provider.name} is not valid: {where} must hold one line of at most {_LONGEST} "
            f"printable ASCII characters without spaces; given {len(found)} characters.",
        )
    return found


def _from_file(provider: Provider, file: Path) -> str:
    """Read a key file. Only its owner may be able to read it; otherwise the key counts as leaked."""
    wrong = f"The key file of the provider {provider.name} "
    if not file.is_absolute():
        raise ModelFailed("not_allowed", f"{wrong}must be given as an absolute path, such as /home/me/openai.key.")
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its path is not valid"
        raise ModelFailed("not_allowed", f"{wrong}cannot be read: {why}.") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ModelFailed("not_allowed", f"{wrong}is not a regular file.")
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
            raise ModelFailed(
                "not_allowed",
                f"{wrong}must belong to the account that Doorward runs as and be readable by it alone (chmod 600); "
                f"its mode is {stat.S_IMODE(facts.st_mode):o}.",
            )
        return os.read(descriptor, _LONGEST + 2).decode("utf-8", "replace").strip()
    except OSError as error:
        raise ModelFailed("not_allowed", f"{wrong}cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
