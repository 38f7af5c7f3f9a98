"""`doorward ai`: say in plain words what you want, and the keeper does it by governed commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from doorward.cli import client, report
from doorward.cli.ai_shown import LAST, Thinking, approval, last_used, waiting
from doorward.cli.following import STOPPED
from doorward.doors.local import Ask
from doorward.model import Outcome

LONGEST = 20_000
"""Characters of one request."""
_COMMAND = "agent/ask"


@click.command("ai")
@click.argument("words", nargs=-1, metavar="REQUEST...")
@click.option("--room", default="", help="Act in this room, by its recipe; otherwise by your own access.")
@click.option("--session", default="", help="Go on in this session; `last` is the one that you used last.")
@click.option("--new", is_flag=True, help="Begin a new session, which is what happens anyway without --session.")
@click.option("--model", default="", help="Think with this model instead, such as `house`.")
@click.option("--ticket", default="", help="Go on with what waited for a person, in its session.")
@click.option("--yes-to-nothing", is_flag=True, help="Ask nothing here: what needs a person's word is left waiting.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, with every call.")
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    room: str,
    session: str,
    new: bool,
    model: str,
    ticket: str,
    yes_to_nothing: bool,
    as_json: bool,
) -> None:
    """Say what you want in plain words. The keeper finds the commands, runs them as far as you may, and answers.

    \b
    doorward ai "how many rooms do we have"
    doorward ai "find all python files and show their sizes"
    echo "which commands failed today and why" | doorward ai
    doorward ai --session last "and yesterday?"

    What destroys, cannot be undone or leaves this machine waits for your word: on a terminal you are asked here, with
    exactly what would run. Ctrl-C stops the work. It exits with 0 when it was done, 1 when not, 3 when it was refused
    and 4 when it waits.
    """
    if new and session:
        raise click.UsageError("--new begins a session and --session goes on in one; give one of them.")
    if ticket and not session:
        raise click.UsageError("--ticket goes on in the session that it belongs to; name it with --session.")
    prompt = _prompt(words, ticket)
    thinking = Thinking(as_json, ticket=ticket)
    thinking.begin()
    if session == LAST:
        session = _last(room)
    given = {"prompt": prompt, "session": session, "model": model, "ticket": ticket}
    ask = Ask(command=_COMMAND, room=room, params={key: value for key, value in given.items() if value})
    asks = not yes_to_nothing and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    outcome = _followed(ask, thinking)
    while asks and not thinking.stopping and (waits := waiting(_answer(outcome), thinking.ticket)):
        thinking.pause(_answer(outcome))
        again = _decided(ask, outcome, waits)
        if again is None:
            break
        thinking = Thinking(as_json, thinking.model, waits)
        outcome = _followed(again, thinking)
    ctx.exit(_shown(outcome, thinking, room, as_json))


def _followed(ask: Ask, thinking: Thinking) -> Outcome:
    try:
        return client.follow(ask, thinking)
    finally:
        thinking.rest()


def _prompt(words: tuple[str, ...], ticket: str) -> str:
    """What was asked: the words, or all that comes through a pipe."""
    text = " ".join(words).strip()
    if text == "-" or (not text and not ticket and not sys.stdin.isatty()):
        text = sys.stdin.read(LONGEST * 2).strip()
    if not text and not ticket:
        raise click.UsageError('Say what you want, such as: doorward ai "how many rooms do we have"')
    if len(text) > LONGEST:
        raise click.UsageError(f"A request has at most {LONGEST:,} characters; given were {len(text):,} or more.")
    return text


def _last(room: str) -> str:
    """The session that this person used last in that room, or outside any."""
    outcome = client.run(Ask(command="session/list", params={}))
    return last_used(outcome.result["items"] if outcome.status == "done" else [], room)


def _answer(outcome: Outcome) -> Mapping[str, Any]:
    """What the keeper said; a request that it could not finish carries its answer as well."""
    return outcome.result if isinstance(outcome.result, Mapping) and "toolCalls" in outcome.result else {}


def _decided(ask: Ask, outcome: Outcome, ticket: str) -> Ask | None:
    """Let the person at this terminal decide, and give back what to ask for next: the same work, going on.

    None when they are not the one to decide, or it could not be decided; then it waits on.
    """
    shown = client.run(Ask(command="approval/show", params={"id": ticket}))
    if shown.status != "done":
        report.complain(shown.status, shown.code, shown.message, shown.hint, shown.rule)
        return None
    click.echo("\n".join(approval(shown.result)))
    if shown.result["cannotDecide"]:
        return None
    try:
        verdict = "approve" if click.confirm("Approve, as yourself?", default=False) else "deny"
    except click.Abort:
        click.echo(err=True)
        report.note(f"Nothing was decided, so it waits on: doorward approvals approve {ticket}, or deny.")
        raise
    decided = client.run(Ask(command=f"approval/{verdict}", params={"id": ticket}))
    if decided.status != "done":
        report.complain(decided.status, decided.code, decided.message, decided.hint, decided.rule)
        return None
    params = {**(ask.params or {}), "session": _answer(outcome)["sessionId"], "ticket": ticket}
    return msgspec.structs.replace(ask, params=params)


def _shown(outcome: Outcome, thinking: Thinking, room: str, as_json: bool) -> int:
    answer = _answer(outcome)
    if not answer:
        if as_json:
            return report.show(outcome, as_json)
        thinking.rest()
        report.complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return STOPPED if thinking.stopping else report.EXIT_CODES[outcome.status]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        thinking.finish(answer)
        if room and (ticket := waiting(answer, thinking.ticket)):
            report.note(f"In full: doorward ai --room={room} --session={answer['sessionId']} --ticket={ticket}")
    if thinking.stopping and not answer["success"]:
        return STOPPED
    if waiting(answer, thinking.ticket):
        return report.EXIT_CODES["parked"]
    return 0 if answer["success"] else report.EXIT_CODES["failed"]
