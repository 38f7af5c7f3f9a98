"""`doorward approvals`: list and decide approvals, and answer questions from MCP servers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from doorward.cli import local_client, report
from doorward.cli.local_client import json_option, run_as_owner
from doorward.core import strictjson
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest

MAX_PART = 100_000
"""The number of characters of changes to load at once."""


@click.command("questions")
@json_option
def questions(as_json: bool) -> None:
    """List questions from MCP servers."""
    if as_json or not sys.stdout.isatty():
        run_as_owner("mcp/questions", as_json)
    if not show_questions():
        report.print_note("No questions.")


def show_questions() -> bool:
    """Show each open question and how to answer it. Returns whether there are any."""
    waiting = _fetch_questions()
    for one in waiting:
        head = click.style(f"{one['server']} asks", bold=True)
        click.echo(f"{head} for {one['caller']}, to continue {one['command']}:")
        click.echo("\n".join(f"  {line}" for line in str(one["message"]).splitlines()))
        form = one.get("form") or {}
        fields = form.get("properties", {})
        for name, spec in fields.items():
            click.echo(
                f"  {escape_invisible(name, lines=False)}: {describe_field(spec, name in form.get('required', ()))}"
            )
        words = " ".join(f"{escape_invisible(name, lines=False)}=…" for name in fields)
        report.print_note(f"  doorward approvals answer {one['id']} {words}".rstrip())
    return bool(waiting)


def describe_field(spec: Any, needed: bool) -> str:
    """Describe a form field: title, description, type, choices, whether it is required, and its default."""
    spec = spec if isinstance(spec, dict) else {}
    said = [str(spec[key]) for key in ("title", "description") if spec.get(key)]
    choices = _list_choices(spec)
    kind = f"one of {', '.join(choices)}" if choices else str(spec.get("type", "string"))
    if spec.get("type") == "array":
        kind = f"a list of {', '.join(choices) or 'values'}, as JSON"
    if isinstance(spec.get("format"), str):
        kind += f" ({spec['format']})"
    parts = [*said, kind, "required" if needed else "optional"]
    if "default" in spec:
        parts.append(f"default {spec['default']}")
    return escape_invisible("; ".join(parts), lines=False)


def _list_choices(spec: Mapping[str, Any]) -> list[str]:
    """Return the choices of a field, each with its title, from any of the forms JSON Schema has for them."""
    items = spec.get("items")
    if isinstance(items, dict):
        return _list_choices(items)
    if isinstance(spec.get("enum"), list):
        titles = spec.get("enumNames")
        called = titles if isinstance(titles, list) and len(titles) == len(spec["enum"]) else [""] * len(spec["enum"])
        return [
            f"{value} ({title})" if title else str(value) for value, title in zip(spec["enum"], called, strict=True)
        ]
    some = spec.get("oneOf") or spec.get("anyOf")
    known = [one for one in some if isinstance(one, dict) and "const" in one] if isinstance(some, list) else []
    return [f"{one['const']} ({one['title']})" if one.get("title") else str(one["const"]) for one in known]


@click.command("answer")
@click.argument("id")
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
@click.option("--decline", "action", flag_value="decline", help="Decline to answer.")
@click.option("--cancel", "action", flag_value="cancel", help="Dismiss the question without a decision.")
@json_option
def answer(id: str, fields: tuple[str, ...], action: str | None, as_json: bool) -> None:
    """Answer a question. Your answer goes to that server only; it is not recorded.

    \b
    doorward approvals answer 01k9x2m4q7ab3cde name=Ada age=36
    doorward approvals answer 01k9x2m4q7ab3cde --decline

    Without fields, you are prompted for each one.
    """
    if action is not None:
        if fields:
            raise click.UsageError(f"--{action} takes no fields; omit either the fields or --{action}.")
        run_as_owner("mcp/answer", as_json, question=id, action=action)
    asked = _find_question(id)
    form = asked.get("form") or {}
    content = _parse_fields(fields, form)
    if not fields and sys.stdin.isatty() and sys.stdout.isatty() and not as_json and asked:
        given = _prompt_for_fields(asked, form)
        if given is None:
            run_as_owner("mcp/answer", as_json, question=id, action="decline")
        content = given or {}
    run_as_owner("mcp/answer", as_json, question=id, action="accept", content=content or None)


def _find_question(id: str) -> Mapping[str, Any]:
    """Return the question, or an empty mapping. The server reports an unknown id when it gets the answer."""
    return next((one for one in _fetch_questions() if one["id"] == id), {})


def _fetch_questions() -> list[dict[str, Any]]:
    outcome = local_client.run(TerminalRequest(command="mcp/questions", params={}))
    items: list[dict[str, Any]] = outcome.result["items"] if outcome.status == "done" else []
    return items


def _parse_fields(fields: Sequence[str], form: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for one in fields:
        name, equals, text = one.partition("=")
        if not equals:
            raise click.UsageError(f"Fields are written FIELD=VALUE; given {one!r}.")
        content[name] = parse_value(text, form.get("properties", {}).get(name, {}))
    return content


def parse_value(text: str, spec: Mapping[str, Any]) -> Any:
    """Parse a value: as text for a string field, otherwise as JSON."""
    if spec.get("type", "string") == "string":
        return text
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text  # the check against the form gives the better error


def _prompt_for_fields(asked: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any] | None:
    """Prompt for each field; None when the person declines."""
    click.echo(f"{asked['server']} asks, to continue {asked['command']}:\n\n{asked['message']}\n")
    properties = form.get("properties", {})
    if not properties:
        return {} if click.confirm("Accept?", default=False) else None
    content: dict[str, Any] = {}
    for name, spec in properties.items():
        label = f"{escape_invisible(name, lines=False)} ({describe_field(spec, name in form.get('required', ()))})"
        text = click.prompt(label, default="", show_default=False)
        if text:
            content[name] = parse_value(text, spec)
    return content if click.confirm(f"Send this to {asked['server']}?", default=True) else None


@click.group("approvals", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and decide approvals. Without a subcommand, list those that are waiting.

    Only people decide; an agent never can.
    """
    if context.invoked_subcommand is None:
        if sys.stdout.isatty():
            show_questions()
        run_as_owner("approval/list", as_json=False, pending=True)


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Include decided, used and expired approvals.")
@json_option
def list_(everything: bool, as_json: bool) -> None:
    """List approvals that are waiting."""
    run_as_owner("approval/list", as_json, pending=not everything)


@command.command()
@click.argument("id")
@click.option("--full", is_flag=True, help="Show all changes, however long.")
@json_option
def show(id: str, full: bool, as_json: bool) -> None:
    """Show exactly what an approval would run, and what it would change.

    If you may decide, looking at it keeps it waiting for 10 minutes. The recipe can set another time.
    """
    outcome = show_and_hold(id)
    if full and outcome.status == "done":
        outcome = _load_rest(outcome)
    code = report.show_outcome(outcome, as_json)
    rest = report.describe_rest(outcome.result) if outcome.status == "done" else ""
    if rest:
        report.print_note(rest)
    click.get_current_context().exit(code)


def show_and_hold(id: str) -> Outcome:
    """Load an approval to show it to the person at this terminal, and hold it while they read if they may decide."""
    shown = local_client.run(TerminalRequest(command="approval/show", params={"id": id}))
    if shown.status != "done" or not can_hold(shown.result):
        return shown
    held = local_client.run(TerminalRequest(command="approval/hold", params={"id": id}))
    if held.status != "done":
        return shown
    return local_client.run(TerminalRequest(command="approval/show", params={"id": id}))


def can_hold(detail: Mapping[str, Any]) -> bool:
    """Whether looking at this approval keeps it waiting longer."""
    waits = detail.get("state") == "pending" and not detail.get("cannotDecide")
    return bool(waits and detail.get("holdSeconds") and not detail.get("heldBy"))


def _load_rest(shown: Outcome) -> Outcome:
    """Load the rest of the changes, part by part. The first part that cannot be loaded is returned instead."""
    detail = dict(shown.result)
    while detail.get("differenceNext") is not None:
        params = {"id": detail["id"], "offset": detail["differenceNext"], "limit": MAX_PART}
        part = local_client.run(TerminalRequest(command="approval/show", params=params))
        if part.status != "done":
            return part
        detail["difference"] += part.result["difference"]
        detail["differenceNext"] = part.result["differenceNext"]
    return msgspec.structs.replace(shown, result=detail)


@command.command()
@click.argument("id")
@click.option(
    "--for",
    "scope",
    type=click.Choice(["once", "session", "always"]),
    default="once",
    show_default=True,
    help="How long it lasts: this call, the session of the caller, or always (adds the rule to the room's recipe).",
)
@click.option(
    "--rule",
    type=click.Choice(["exact", "folder", "prefix"]),
    default="exact",
    show_default=True,
    help="With session and always: the later calls that it covers.",
)
@click.option("--yes", is_flag=True, help="Take the rule without asking.")
@json_option
def approve(id: str, scope: str, rule: str, yes: bool, as_json: bool) -> None:
    """Approve a call. It may then run once, exactly as shown.

    \b
    doorward approvals approve 01k9x2m4q7ab3cde
    doorward approvals approve 01k9x2m4q7ab3cde --for session
    doorward approvals approve 01k9x2m4q7ab3cde --for always --rule folder

    With --for, later calls that the rule covers need no approval. The rule is shown first, with what it would have
    decided in the last seven days.
    """
    if scope != "once":
        _confirm_rule(id, scope, rule, yes, as_json)
    lasting = {"scope": scope, "rule": rule} if scope != "once" else {}
    run_as_owner("approval/approve", as_json, id=id, **lasting)


def _confirm_rule(id: str, scope: str, rule: str, yes: bool, as_json: bool) -> None:
    """Show the rule that an answer would take, and ask for it. Ends the program if it is not taken."""
    offered = local_client.run(TerminalRequest(command="approval/rules", params={"id": id}))
    if offered.status != "done":
        click.get_current_context().exit(report.show_outcome(offered, as_json))
    facts = offered.result
    names = [one["rule"] for one in facts["items"]]
    if refusal := facts[scope]:
        raise click.ClickException(f"{refusal} To approve this call only: doorward approvals approve {id}")
    if rule not in names:
        raise click.UsageError(f"This call has no rule {rule!r}. Rules: {', '.join(names)}.")
    chosen = facts["items"][names.index(rule)]
    for line in format_rule(chosen, facts, scope):
        report.print_note(line)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("Without a terminal, --yes takes the rule that is shown here. Nothing was decided.")
    click.confirm("Take this rule?", default=False, abort=True)


def format_rule(chosen: Mapping[str, Any], facts: Mapping[str, Any], scope: str) -> list[str]:
    """Format a rule, its reach, and what it would have decided."""
    lines = [f"Without asking again: {escape_invisible(str(chosen['text']), lines=False)}"]
    if scope == "session":
        return [*lines, "For the session of this caller, in this room."]
    rooms = ", ".join(facts["rooms"])
    lines.append(
        f"For everybody in the rooms under the recipe {facts['recipe']}: {rooms}. `doorward undo` takes it back."
    )
    if (past := chosen["past"]) is not None:
        unsure = f", and {past['unknown']} cannot be determined" if past["unknown"] else ""
        partly = "" if past["complete"] else " Not the whole week was checked."
        lines.append(
            f"In the last seven days it would have let {past['asked']} of {past['checked']} calls run without "
            f"asking{unsure}.{partly}"
        )
    return lines


@command.command()
@click.argument("id")
@click.option("--reason", default="", help="Why, for the caller to read: what it should do instead.")
@json_option
def deny(id: str, reason: str, as_json: bool) -> None:
    """Deny a call. The caller reads the reason."""
    run_as_owner("approval/deny", as_json, id=id, **({"reason": reason} if reason else {}))


command.add_command(questions)
command.add_command(answer)
