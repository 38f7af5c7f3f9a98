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
    """Show exactly what an approval would run, and what it would change."""
    outcome = local_client.run(TerminalRequest(command="approval/show", params={"id": id}))
    if full and outcome.status == "done":
        outcome = _load_rest(outcome)
    code = report.show_outcome(outcome, as_json)
    rest = report.describe_rest(outcome.result) if outcome.status == "done" else ""
    if rest:
        report.print_note(rest)
    click.get_current_context().exit(code)


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
@json_option
def approve(id: str, as_json: bool) -> None:
    """Approve a call. It may then run once, exactly as shown."""
    run_as_owner("approval/approve", as_json, id=id)


@command.command()
@click.argument("id")
@json_option
def deny(id: str, as_json: bool) -> None:
    """Deny a call."""
    run_as_owner("approval/deny", as_json, id=id)


command.add_command(questions)
command.add_command(answer)
