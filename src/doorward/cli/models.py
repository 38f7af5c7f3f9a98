"""`doorward models`: find the models of this machine, test one, choose the default, and add files."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from doorward.cli import local_client, models_view, report
from doorward.cli.live_view import LiveView
from doorward.cli.local_client import json_option
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest
from doorward.gate.executions.notices import Notice, ProgressNotice

_EXIT_NOT_DONE = 1


@click.group("models", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Manage the models that personas and the keeper use. Without a subcommand, list them."""
    if ctx.invoked_subcommand is None:
        _run("model/find", {}, False, models_view.show_models)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the models in the settings and those found on this machine.

    Model servers are searched on their usual ports on this machine, and GGUF files in the usual folders.
    """
    _run("model/find", {}, as_json, models_view.show_models)


@command.command()
@click.argument("name")
@json_option
def test(name: str, as_json: bool) -> None:
    """Test a model with three requests.

    One is answered by a result, one needs a call, and one has no answer, which an honest model says. The exit code is
    0 if all answers are right. A provider may charge for the answers.
    """
    outcome = _follow("model/test", {"model": name}, as_json)
    code = _show(outcome, as_json, models_view.show_trial)
    wrong = outcome.status == "done" and not (
        outcome.result["answers"] and all(one["right"] for one in outcome.result["checks"])
    )
    click.get_current_context().exit(_EXIT_NOT_DONE if wrong else code)


@command.command()
@click.argument("name")
@json_option
def use(name: str, as_json: bool) -> None:
    """Make a model the default of personas and the keeper.

    A server that `doorward models` found is added to the settings. Personas that name their own model keep it.
    """
    _run("model/use", {"model": name}, as_json, models_view.show_use)


@command.command()
@click.argument("source", metavar="PATH|URL")
@click.option("--name", default="", help="Name of the model, for local:NAME. By default, from the name of the file.")
@click.option("--sha256", default="", help="Checksum that the file must have.")
@json_option
def add(source: str, name: str, sha256: str, as_json: bool) -> None:
    """Add a model in a GGUF file, or download one.

    \b
    doorward models add ~/models/qwen3-4b-instruct-q4_k_m.gguf --name small
    doorward models add https://models.example/qwen3-4b-q4_k_m.gguf --sha256 SUM

    A download goes to the home folder, and appears there only when it is whole.
    """
    where = source if "://" in source else os.path.abspath(os.path.expanduser(source))
    outcome = _follow("model/add", {"source": where, "name": name, "sha256": sha256}, as_json)
    click.get_current_context().exit(_show(outcome, as_json, models_view.show_addition))


class _ProgressView(LiveView):
    """Draws progress as a bar, with the speed of a download."""

    def __init__(self, as_json: bool) -> None:
        super().__init__(as_json)
        self._first: tuple[float, float] | None = None

    def handle_notice(self, notice: Notice) -> None:
        super().handle_notice(notice)
        if isinstance(notice, ProgressNotice) and notice.fraction is not None:
            now = time.monotonic()
            self._first = self._first or (now, notice.fraction)
            self.draw(models_view.format_bar(notice.fraction, notice.message, now - self._first[0], self._first[1]))

    def tick(self) -> None:
        if self._first is None:
            super().tick()


def _follow(name: str, params: dict[str, Any], as_json: bool) -> Outcome:
    live = _ProgressView(as_json)
    try:
        return local_client.follow(TerminalRequest(command=name, params=params), live)
    finally:
        live.end_line()


def _run(name: str, params: dict[str, Any], as_json: bool, show: Any) -> None:
    outcome = local_client.run(TerminalRequest(command=name, params=params))
    click.get_current_context().exit(_show(outcome, as_json, show))


def _show(outcome: Outcome, as_json: bool, show: Any) -> int:
    """Print the result with `show` on a terminal, otherwise the whole outcome as JSON."""
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        show(outcome.result)
        return 0
    return report.show_outcome(outcome, as_json)
