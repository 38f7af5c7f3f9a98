"""`doorward ai`: send the keeper a request in plain words."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from doorward.cli import local_client, report
from doorward.cli.ai_view import LAST_SESSION, KeeperView, find_last_session, find_pending_ticket, format_approval
from doorward.cli.approvals import show_and_hold
from doorward.cli.local_client import EXIT_INTERRUPTED, ROOM_HELP
from doorward.cli.project import current_folder
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest

MAX_REQUEST_CHARS = 20_000
"""Maximum characters of a request."""
_COMMAND = "agent/ask"


@click.command("ai")
@click.argument("words", nargs=-1, metavar="REQUEST...")
@click.option("--room", default=None, help=ROOM_HELP)
@click.option("--session", default="", help="Continue this session; `last` is the most recent one.")
@click.option("--new", is_flag=True, help="Start a new session (the default without --session).")
@click.option("--model", default="", help="Use this model, such as `house`.")
@click.option("--ticket", default="", help="Continue after an approval; needs --session.")
@click.option("--no-prompt", is_flag=True, help="Do not ask for approvals; leave them pending.")
@click.option("--yes-to-nothing", is_flag=True, hidden=True, help="Old spelling of --no-prompt.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, with every call.")
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    room: str | None,
    session: str,
    new: bool,
    model: str,
    ticket: str,
    no_prompt: bool,
    yes_to_nothing: bool,
    as_json: bool,
) -> None:
    """Ask the keeper in plain words. It finds the commands, runs them with your permissions, and answers.

    \b
    doorward ai "how many rooms do we have"
    doorward ai "find all python files and show their sizes"
    echo "which commands failed today and why" | doorward ai
    doorward ai --session last "and yesterday?"

    A call that is destructive, irreversible or leaves this machine waits for your approval. On a terminal you see
    exactly what would run and decide there. Ctrl-C stops the request.

    Exit codes: 0 done, 1 failed, 3 refused, 4 waiting for approval.
    """
    if new and session:
        raise click.UsageError("--new starts a session and --session continues one; give only one of them.")
    if ticket and not session:
        raise click.UsageError("--ticket needs the session it belongs to; add --session.")
    prompt = _read_prompt(words, ticket)
    thinking = KeeperView(as_json, ticket=ticket)
    thinking.begin()
    folder = current_folder() if room is None else ""
    if session == LAST_SESSION:
        session = _find_last_session(local_client.find_room(folder) if folder else room or "")
    given = {"prompt": prompt, "session": session, "model": model, "ticket": ticket}
    params = {key: value for key, value in given.items() if value}
    ask = TerminalRequest(command=_COMMAND, room=room or "", folder=folder, params=params)
    no_prompt = no_prompt or yes_to_nothing
    asks = not no_prompt and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    outcome = _follow(ask, thinking)
    while asks and not thinking.stopping and (waits := find_pending_ticket(_extract_answer(outcome), thinking.ticket)):
        thinking.pause(_extract_answer(outcome))
        again = _ask_for_decision(ask, outcome, waits)
        if again is None:
            break
        thinking = KeeperView(as_json, thinking.model, waits)
        outcome = _follow(again, thinking)
    if folder and not as_json and find_pending_ticket(_extract_answer(outcome), thinking.ticket):
        room = local_client.find_room(folder)
    ctx.exit(_show_outcome(outcome, thinking, room or "", as_json))


def _follow(ask: TerminalRequest, thinking: KeeperView) -> Outcome:
    try:
        return local_client.follow(ask, thinking)
    finally:
        thinking.end_line()


def _read_prompt(words: tuple[str, ...], ticket: str) -> str:
    """Return the request: the arguments, or standard input when it is a pipe."""
    text = " ".join(words).strip()
    if text == "-" or (not text and not ticket and not sys.stdin.isatty()):
        text = sys.stdin.read(MAX_REQUEST_CHARS * 2).strip()
    if not text and not ticket:
        raise click.UsageError('No request. Give one, such as: doorward ai "how many rooms do we have"')
    if len(text) > MAX_REQUEST_CHARS:
        raise click.UsageError(
            f"The request is too long: at most {MAX_REQUEST_CHARS:,} characters, given at least {len(text):,}."
        )
    return text


def _find_last_session(room: str) -> str:
    """Return the caller's most recent session in that room, or outside rooms."""
    outcome = local_client.run(TerminalRequest(command="session/list", params={}))
    return find_last_session(outcome.result["items"] if outcome.status == "done" else [], room)


def _extract_answer(outcome: Outcome) -> Mapping[str, Any]:
    """Return the keeper's answer, or an empty mapping. A failed request can carry an answer too."""
    return outcome.result if isinstance(outcome.result, Mapping) and "toolCalls" in outcome.result else {}


def _ask_for_decision(ask: TerminalRequest, outcome: Outcome, ticket: str) -> TerminalRequest | None:
    """Ask the person at this terminal to decide, and return the request that continues the work.

    Returns None when they may not decide or the decision failed; the call then keeps waiting.
    """
    shown = show_and_hold(ticket)
    if shown.status != "done":
        report.print_error(shown.status, shown.code, shown.message, shown.hint, shown.rule)
        return None
    click.echo("\n".join(format_approval(shown.result)))
    if shown.result["cannotDecide"]:
        return None
    try:
        verdict = "approve" if click.confirm("Approve, as yourself?", default=False) else "deny"
    except click.Abort:
        click.echo(err=True)
        report.print_note(f"No decision was made. To decide later: doorward approvals approve {ticket}, or deny.")
        raise
    decided = local_client.run(TerminalRequest(command=f"approval/{verdict}", params={"id": ticket}))
    if decided.status != "done":
        report.print_error(decided.status, decided.code, decided.message, decided.hint, decided.rule)
        return None
    params = {**(ask.params or {}), "session": _extract_answer(outcome)["sessionId"], "ticket": ticket}
    return msgspec.structs.replace(ask, params=params)


def _show_outcome(outcome: Outcome, thinking: KeeperView, room: str, as_json: bool) -> int:
    answer = _extract_answer(outcome)
    if not answer:
        if as_json:
            return report.show_outcome(outcome, as_json)
        thinking.end_line()
        report.print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return EXIT_INTERRUPTED if thinking.stopping else report.EXIT_CODES[outcome.status]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        thinking.finish(answer)
        if room and (ticket := find_pending_ticket(answer, thinking.ticket)):
            report.print_note(
                f"To continue: doorward ai --room={room} --session={answer['sessionId']} --ticket={ticket}"
            )
    if thinking.stopping and not answer["success"]:
        return EXIT_INTERRUPTED
    if find_pending_ticket(answer, thinking.ticket):
        return report.EXIT_CODES["parked"]
    return 0 if answer["success"] else report.EXIT_CODES["failed"]
