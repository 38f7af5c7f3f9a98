from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from line_house import line_house


@pytest.fixture
def line(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a house with its line door, with whatever settings of the door a test names."""
    return functools.partial(line_house, opened)
