from __future__ import annotations

from pathlib import Path

import pytest

from doorward_process import Doorward


@pytest.fixture
def doorward(tmp_path: Path) -> Doorward:
    """The real executable with a home folder that does not exist yet."""
    return Doorward(tmp_path / "home")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Doorward:
    """The same for a whole file, where tests only look."""
    return Doorward(tmp_path_factory.mktemp("shared") / "home")
