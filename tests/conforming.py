"""Whether results are what commands say that they give."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from doorward.core.command import to_object
from doorward.core.model import Outcome


def conforms(driver: Any, command: str, outcome: Outcome) -> None:
    """The result, as doors give it, fits the schema of the command that it came from."""
    declared = driver.house.services.registry.resolve(command)
    if declared.find_aliased is not None:  # what came is another command's, and that one is somebody else's
        return
    returns = declared.returns
    assert returns is not None, f"{command} does not say what it gives"
    jsonschema_rs.Draft202012Validator(returns).validate(to_object(outcome.result))
