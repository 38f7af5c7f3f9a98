"""Servers that may use the network are told whom this machine trusts, and nothing else of its environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doorward.sandbox.long_running import LongRunningProfile
from doorward.upstream.config import ServerConfig, ServerSandbox
from doorward.upstream.stdio import make_connector


class Seen(Exception):
    """What a server would have been started with."""


class Keeper:
    async def keep(self, profile: LongRunningProfile, argv: Any, environment: Mapping[str, str], folder: str) -> Any:
        raise Seen(profile.read, dict(environment))


async def started(folder: Path, **config: Any) -> tuple[tuple[str, ...], dict[str, str]]:
    with pytest.raises(Seen) as seen:
        await make_connector(Keeper(), folder)(ServerConfig(id="one", name="one", command="x", **config), None)
    return seen.value.args


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = tmp_path / "ca.pem"
    file.write_text("a certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path))
    monkeypatch.setenv("SOME_SECRET", "hush")
    return str(file)


async def test_a_server_with_the_network_may_read_the_certificates_that_are_trusted_here(bundle, tmp_path):
    read, environment = await started(tmp_path, sandbox=ServerSandbox(network=True, read=("/srv",)), env={"A": "b"})
    assert environment["SSL_CERT_FILE"] == bundle
    assert {"A", "SSL_CERT_FILE"} <= set(environment) <= {"A", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}
    assert read[:2] == ("/srv", bundle)


async def test_what_the_entry_says_comes_first(bundle, tmp_path):
    _, environment = await started(tmp_path, sandbox=ServerSandbox(network=True), env={"SSL_CERT_FILE": "/mine.pem"})
    assert environment["SSL_CERT_FILE"] == "/mine.pem"


async def test_a_server_without_the_network_needs_none_of_it(bundle, tmp_path):
    assert await started(tmp_path, env={"A": "b"}) == ((), {"A": "b"})
