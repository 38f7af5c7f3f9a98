"""HTTP library settings, requests and errors that both clients share."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from typing import Any

import httpx2

from doorward import __version__
from doorward.client.address import ServerAddress
from doorward.client.effects import NoResponse, Reply, Send
from doorward.core.wire.sse import EventTooLarge

_CONNECT_TIMEOUT = 5.0


def http_options(address: ServerAddress, timeout: float) -> dict[str, Any]:
    """Return the HTTP library's options.

    Redirects are never followed, so that a token is not sent to another server. Requests to this machine use no proxy,
    whatever the environment says. For an http:// URL, an empty TLS context avoids loading all certificates.
    """
    return {
        "verify": True if address.origin[0] == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        "follow_redirects": False,
        "trust_env": not address.local,
        "timeout": httpx2.Timeout(timeout, connect=_CONNECT_TIMEOUT),
        "headers": {"User-Agent": f"doorward-client/{__version__}"},
    }


def build_http_request(http: httpx2.Client | httpx2.AsyncClient, address: ServerAddress, send: Send) -> httpx2.Request:
    more: dict[str, Any] = {}
    if send.timeout is not None:
        more["timeout"] = httpx2.Timeout(send.timeout, connect=_CONNECT_TIMEOUT)
    return http.build_request(
        send.method,
        address.url + send.path,
        params=send.http_query() or None,
        headers=send.http_headers(),
        content=send.body,
        **more,
    )


def to_reply(response: httpx2.Response) -> Reply:
    return Reply(response.status_code, dict(response.headers), response.content)


@contextlib.contextmanager
def map_http_errors(*, begun: bool = True) -> Iterator[None]:
    """Map every HTTP library error about a missing response to `NoResponse`.

    `begun` says whether a response has started, which proves that the peer speaks HTTP.
    """
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError) as error:
        raise NoResponse(_format_reason(error), sent=False) from error
    except httpx2.TimeoutException as error:
        raise NoResponse("it took too long", sent=True, slow=True) from error
    except (httpx2.RequestError, httpx2.StreamError, EventTooLarge) as error:
        mute = not begun and isinstance(error, httpx2.RemoteProtocolError)
        raise NoResponse(_format_reason(error), sent=True, mute=mute) from error


def _format_reason(error: Exception) -> str:
    """Return the library's message without its full stop, for use inside a sentence."""
    return str(error).strip().rstrip(".") or type(error).__name__
