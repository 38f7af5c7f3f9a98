from __future__ import annotations

from collections.abc import Iterator

import browsing
import pytest
from browsing import Console
from playwright.sync_api import Browser, expect, sync_playwright

from doorward_process import Doorward


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=browsing.PATIENCE)
    with sync_playwright() as playwright, browsing.browser(playwright) as browser:
        yield browser


@pytest.fixture(scope="module")
def serving(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """One server and one browser for a whole file."""
    doorward = Doorward(tmp_path_factory.mktemp("console") / "home")
    with doorward.serving() as server:
        yield Console(doorward, server, chromium)


@pytest.fixture
def console(serving: Console) -> Iterator[Console]:
    yield serving
    serving.done()
