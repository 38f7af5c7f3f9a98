"""Where a client sends its token, and where it does not."""

from __future__ import annotations

import subprocess
import sys

import httpx2
import pytest

import doorward.client
from doorward.client import AsyncClient, Client, Outcome, outcome
from doorward.client.transport import http_options
from doorward.core import model
from doorward.core.errors import BadParams, Unreachable
from doorward.gate.executions import notices

KINDS = [Client, AsyncClient]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOORWARD_URL", "DOORWARD_TOKEN", "DOORWARD_ROOM"):
        monkeypatch.delenv(name, raising=False)


def shown_token(client: Client) -> str:
    """The token that a client shows, as a server sees it."""
    return client._current_token()


@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_says_where_and_who(kind: type[Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORWARD_URL", "https://door.example/")
    monkeypatch.setenv("DOORWARD_TOKEN", "from-outside\n")
    monkeypatch.setenv("DOORWARD_ROOM", "lab")
    client = kind()
    assert "https://door.example" in repr(client)
    assert "room='lab'" in repr(client)
    assert shown_token(client) == "from-outside"


def test_without_an_environment_it_is_the_server_on_this_machine() -> None:
    assert "'http://127.0.0.1:8642'" in repr(Client())


def test_the_token_of_the_environment_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORWARD_TOKEN", "from-outside")
    assert shown_token(Client("https://elsewhere.example")) == ""
    assert shown_token(Client("http://127.0.0.1:8642")) == "from-outside"
    monkeypatch.setenv("DOORWARD_URL", "https://door.example")
    assert shown_token(Client("https://door.example:443")) == "from-outside"
    assert shown_token(Client("https://door.example:8443")) == ""
    assert shown_token(Client("http://127.0.0.1:8642")) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_of_a_client_holds_no_token(kind: type[Client]) -> None:
    assert "secret-token" not in repr(kind(token="secret-token"))
    assert "with a token" in repr(kind(token="secret-token"))
    assert "with no token" in repr(kind())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://door.example", "http:// or https://"),
        ("door.example:8642", "http:// or https://"),
        ("https://", "name a host"),
        ("https://door.example:99999", "not a URL"),
        ("https://ada:secret-word@door.example", "a user"),
        ("https://door.example/?token=secret-word", "a user, query or fragment"),
        ("http://door.example", "plain_http"),
        ("http://10.0.0.7:8642", "unencrypted"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_and_no_secret_of_it_told(url: str, said: str) -> None:
    with pytest.raises(BadParams) as refusal:
        Client(url)
    assert said in refusal.value.message + refusal.value.hint
    assert "secret-word" not in refusal.value.message


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://door.example"])
def test_an_address_that_keeps_the_token_safe_is_taken(url: str) -> None:
    assert url in repr(Client(url))


def test_readable_http_is_taken_when_it_is_asked_for() -> None:
    assert "http://doorward:8642" in repr(Client("http://doorward:8642", plain_http=True))


def test_what_this_machine_says_to_itself_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:1")
    monkeypatch.setenv("ALL_PROXY", "http://proxy.invalid:1")
    client = Client("http://127.0.0.1:9", token="t", retries=0)
    with pytest.raises(Unreachable, match="refused"):
        client.me()
    assert http_options(client._url, 1.0)["follow_redirects"] is False


@pytest.mark.parametrize("token", ["two words", "näm", "line\nbreak"])
def test_what_cannot_be_a_token_is_refused_without_telling_it(token: str) -> None:
    with pytest.raises(BadParams) as refusal:
        Client(token=token)
    assert token not in refusal.value.message


def test_a_redirect_is_not_followed_and_the_token_goes_nowhere_else() -> None:
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.host)
        return httpx2.Response(307, headers={"Location": "https://elsewhere.example/api/me"})

    client = Client("https://door.example", token="t", transport=httpx2.MockTransport(answer))
    with client, pytest.raises(Unreachable, match=r"redirects to https://elsewhere\.example/api/me"):
        client.me()
    assert asked == ["door.example"]


@pytest.mark.parametrize("options", [{"retries": -1}, {"timeout": 0}])
def test_impossible_patience_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadParams, match="given"):
        Client(**options)  # type: ignore[arg-type]


def test_outcomes_and_notices_are_written_as_the_server_writes_them() -> None:
    ours = {field: kind.__name__ for field, kind in ((name, Outcome) for name in Outcome.__struct_encode_fields__)}
    assert set(ours) == set(model.Outcome.__struct_encode_fields__)
    for name in ("Started", "Output", "Progress"):
        mine, theirs = getattr(outcome, name), getattr(notices, f"{name}Notice")
        assert mine.__struct_encode_fields__ == theirs.__struct_encode_fields__
        assert mine.__struct_config__.tag == theirs.__struct_config__.tag


def test_the_public_names_are_these() -> None:
    assert doorward.client.__all__ == [
        "Answer",
        "AsyncClient",
        "AsyncStream",
        "Client",
        "KeeperStep",
        "Notice",
        "Outcome",
        "Output",
        "Page",
        "Parked",
        "Progress",
        "ServerEvent",
        "Started",
        "Stream",
        "ToolCall",
    ]
    operations = {name for name in dir(Client) if not name.startswith("_")}
    assert operations - set(dir(AsyncClient)) == {"close"}
    assert {name for name in dir(AsyncClient) if not name.startswith("_")} - operations == {"aclose"}
    assert all(getattr(Client, name).__doc__ for name in operations)


def test_using_the_client_loads_nothing_of_the_server() -> None:
    code = "import sys; from doorward.client import AsyncClient, Client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("doorward.")}
    beyond = {name for name in ours if not name.startswith("doorward.client")}
    wire = {"doorward.core.wire", "doorward.core.wire.lines", "doorward.core.wire.sse"}
    assert beyond == {"doorward.core", "doorward.core.errors", "doorward.core.strictjson", *wire}
