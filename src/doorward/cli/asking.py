"""Helpers of the management commands: run a command as the person at the terminal, show the outcome, exit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from doorward.cli import client, report
from doorward.doors.local import Ask

F = TypeVar("F", bound=Callable[..., Any])


def as_owner(command: str, as_json: bool, **params: Any) -> None:
    """Run a command as yourself, outside rooms, and exit with its exit code."""
    given = {key: value for key, value in params.items() if value is not None}
    outcome = client.run(Ask(command=command, params=given))
    click.get_current_context().exit(report.show(outcome, as_json))


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (the default in a pipe).")(function)
