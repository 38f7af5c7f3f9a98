"""docs/DEPLOYMENT.md works as written: its settings, and its nginx configuration in a real nginx with TLS."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import tomllib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
import trustme
from console_blocks import blocks

from doorward.config.settings import Settings
from doorward.doors.http.ports import listen
from doorward.rooms.accounts.attempt_limits import PAIR_LIMIT
from doorward.rooms.people import LOCAL, OWNER
from doorward.store.ledger.anonymous_refusals import SINGLE_RECORDS
from listening import Listening, house, listening
from waiting import PATIENCE, until

PAGE = (Path(__file__).parents[2] / "docs" / "DEPLOYMENT.md").read_text()
NAME = "doorward.example"
PASSWORD = "four words make one"
OWNERS, STRANGERS = "127.0.0.3", "127.0.0.2"
"""Addresses of this machine from which the two connect to the proxy."""


class Proxy:
    def __init__(self, driver: Any, port: int, tls: ssl.SSLContext) -> None:
        self.driver = driver
        self.url = f"https://{NAME}:{port}"
        self._port = port
        self._tls = tls

    async def login(self, address: str, body: dict[str, str], **headers: str) -> httpx2.Response:
        transport = httpx2.AsyncHTTPTransport(verify=self._tls, local_address=address)
        async with httpx2.AsyncClient(transport=transport, timeout=PATIENCE) as client:
            given = {"Host": f"{NAME}:{self._port}", "Origin": self.url, "Sec-Fetch-Site": "same-origin", **headers}
            extensions = {"sni_hostname": NAME}
            where = f"https://127.0.0.1:{self._port}/api/console/login"
            return await client.post(where, json=body, headers=given, extensions=extensions)

    def link(self) -> dict[str, str]:
        return {"code": self.driver.house.services.browsers.create_link(LOCAL, OWNER)}


@contextlib.asynccontextmanager
async def nginx(here: Listening, port: int, folder: Path, authority: trustme.CA) -> AsyncIterator[None]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program is not None, "nginx is not installed; this test needs it: sh setup/system.sh nginx .venv/nginx-tried"
    [server] = blocks(PAGE, "nginx")
    certificate = authority.issue_cert(NAME)
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "both.pem"))
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8642", f"127.0.0.1:{here.port}"),
        (f"/etc/ssl/{NAME}.pem", str(folder / "both.pem")),
        (f"/etc/ssl/{NAME}.key", str(folder / "both.pem")),
    ):
        assert old in server
        server = server.replace(old, new)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/errors;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{server}\n}}\n"
    )
    process = await asyncio.create_subprocess_exec(
        program, "-c", file, "-p", folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.STDOUT
    )

    async def is_up() -> bool:
        assert process.returncode is None, (folder / "errors").read_text()
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.transport.abort()
            return True
        return False

    try:
        await until(is_up)
        yield
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def proxy(opened: Callable[..., Any], tmp_path: Path) -> AsyncIterator[Proxy]:
    with contextlib.closing(listen("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    [text] = blocks(PAGE, "toml")
    given = tomllib.loads(text.replace(f'"https://{NAME}"', f'"https://{NAME}:{port}"'))
    authority = trustme.CA()
    tls = ssl.create_default_context()
    authority.configure_trust(tls)
    async with (
        opened(changes=msgspec.convert(given, Settings)) as driver,
        listening(house(driver), tmp_path / "s") as here,
        nginx(here, port, tmp_path, authority),
    ):
        yield Proxy(driver, port, tls)


async def test_the_console_works_behind_nginx_and_only_for_its_own_origin(proxy: Proxy) -> None:
    answer = await proxy.login(OWNERS, proxy.link())
    assert answer.status_code == 200, answer.text
    cookie = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"secure", "httponly", "samesite=strict"} <= cookie
    for origin in ("https://elsewhere.example", proxy.url.replace("https", "http"), f"https://{NAME}.evil.example"):
        refused = await proxy.login(OWNERS, proxy.link(), Origin=origin)
        assert (refused.status_code, refused.json()["code"]) == (403, "other_origin")


async def test_a_stranger_behind_the_proxy_locks_out_nobody_else(proxy: Proxy) -> None:
    await proxy.driver.owner("user/password", user="owner", password=PASSWORD)
    right, wrong = {"user": "owner", "password": PASSWORD}, {"user": "owner", "password": "five words are not it"}
    for _ in range(PAIR_LIMIT.most):
        assert (await proxy.login(STRANGERS, wrong, **{"X-Forwarded-For": OWNERS})).status_code == 401
    assert (await proxy.login(STRANGERS, wrong, **{"X-Forwarded-For": OWNERS})).status_code == 429
    assert (await proxy.login(OWNERS, right)).status_code == 200
    assert (await proxy.login(STRANGERS, proxy.link())).status_code == 200, "a valid link works from every address"
    entries = [row for row in await proxy.driver.ledger() if row["command"] == "auth/login"]
    assert [STRANGERS in str(row["params"]) for row in entries] == [True] * SINGLE_RECORDS + [False]
    assert OWNERS in str(entries[-1]["params"])
