"""Convert errors of the provider libraries to `ModelFailed`, with a sentence for people."""

from __future__ import annotations

import logging
import math
import ssl

import httpx2
from pydantic_ai import exceptions

from doorward.agents.models.model import ModelFailed, ModelFault
from doorward.agents.models.timeouts import format_seconds
from doorward.agents.models.transport import ResponseRejected
from doorward.core import redact
from doorward.core.escape_invisible import escape_invisible

log = logging.getLogger(__name__)

_MAX_REMARK = 200
_MAX_CAUSES = 10


def convert_error(error: Exception, name: str, key: str) -> ModelFailed:
    """Convert a library error. Its own message is not passed on, because it may contain anything."""
    causes = list(_list_causes(error))
    for cause in causes:
        if isinstance(cause, ResponseRejected):
            return ModelFailed(cause.fault, f"The provider of {name} {cause}.")
        if isinstance(cause, ssl.SSLError):
            return ModelFailed("not_allowed", f"This machine does not trust the certificate of the provider of {name}.")
    for cause in causes:
        if isinstance(cause, httpx2.TransportError):
            return _convert_transport_error(cause, name)
    for kind, fault, words in _ERROR_KINDS:
        if isinstance(error, kind):
            wait = _retry_after(error) if fault == "rate_limited" else None
            words = words.format(name=name)
            if fault == "rate_limited":
                words += f"; try again in {format_seconds(wait)}" if wait is not None else "; try again later"
            return ModelFailed(fault, f"{words}{_quote_provider(error, key)}.", wait)
    log.warning("an answer of %s cannot be read: %s", name, type(error).__name__)
    return ModelFailed("bad_answer", f"The answer of {name} cannot be read{_quote_provider(error, key)}.")


def _retry_after(error: Exception) -> float | None:
    """Return the provider's retry delay in seconds, if it is a usable number."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) and 0 < asked < math.inf else None


def _list_causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and len(found) < _MAX_CAUSES:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _convert_transport_error(error: httpx2.TransportError, name: str) -> ModelFailed:
    if isinstance(error, httpx2.ConnectTimeout):
        return ModelFailed("slow", f"The provider of {name} did not accept the connection in time.")
    if isinstance(error, httpx2.ConnectError):
        return ModelFailed("down", f"The provider of {name} cannot be reached: nothing answers at its address.")
    if isinstance(error, httpx2.TimeoutException):
        return ModelFailed("slow", f"The provider of {name} did not answer in time.")
    return ModelFailed("cut", f"The connection to the provider of {name} was lost before the answer was complete.")


_ERROR_KINDS: tuple[tuple[type[Exception], ModelFault, str], ...] = (
    (exceptions.ModelRateLimitError, "rate_limited", "The provider of {name} is rate limiting requests"),
    (exceptions.ModelOverloadedError, "rate_limited", "The provider of {name} is overloaded"),
    (
        exceptions.ModelQuotaExceededError,
        "not_allowed",
        "The quota of the account at the provider of {name} is used up",
    ),
    (exceptions.ModelAuthenticationError, "not_allowed", "The provider of {name} does not accept the key"),
    (exceptions.ModelNotFoundError, "unknown", "The provider has no model {name}, or its base_url is wrong"),
    (
        exceptions.ModelContextWindowExceededError,
        "bad_answer",
        "The conversation is too long for {name}; give the persona fewer context tokens",
    ),
    (exceptions.ModelUnavailableError, "down", "The provider of {name} is not available now"),
    (exceptions.ModelServerError, "down", "The provider of {name} failed"),
    (exceptions.ModelTimeoutError, "slow", "The provider of {name} did not answer in time"),
    (exceptions.ModelRequestTimeout, "slow", "The provider of {name} did not answer in time"),
    (exceptions.ModelConnectionError, "cut", "The connection to the provider of {name} was lost"),
    (exceptions.ModelRequestRejectedError, "bad_answer", "The provider of {name} rejects the request"),
)
"""The library's error classes, most specific first."""


def _quote_provider(error: Exception, key: str) -> str:
    """Quote the provider's own error message, shortened and with secrets redacted."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner if isinstance(inner, str) else None
    if not isinstance(said, str) or not said.strip():
        return ""
    plain = escape_invisible(redact.text(said[:2_000], [key] if key else []), lines=False).strip()
    cut = plain if len(plain) <= _MAX_REMARK else plain[: _MAX_REMARK - 1] + "…"
    return f'; it says: "{cut}"'
