"""`doorward approvals questions` and `answer`: what MCP servers want to know of a person."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from doorward import strictjson
from doorward.cli import client, report
from doorward.cli.asking import as_owner, json_option
from doorward.doors.local import Ask
from doorward.visible import visible


@click.command("questions")
@json_option
def questions(as_json: bool) -> None:
    """List what MCP servers want to know of you."""
    if as_json or not sys.stdout.isatty():
        as_owner("mcp/questions", as_json)
    if not show_waiting():
        report.note("No server asks anything.")


def show_waiting() -> bool:
    """Show the questions that wait, each with how to answer it; whether there are any."""
    waiting = _waiting()
    for one in waiting:
        head = click.style(f"{one['server']} asks", bold=True)
        click.echo(f"{head} for {one['caller']}, to go on with {one['command']}:")
        click.echo("\n".join(f"  {line}" for line in str(one["message"]).splitlines()))
        form = one.get("form") or {}
        fields = form.get("properties", {})
        for name, spec in fields.items():
            click.echo(f"  {visible(name, lines=False)}: {about(spec, name in form.get('required', ()))}")
        words = " ".join(f"{visible(name, lines=False)}=…" for name in fields)
        report.note(f"  doorward approvals answer {one['id']} {words}".rstrip())
    return bool(waiting)


def about(spec: Any, needed: bool) -> str:
    """What goes into a field: its title and description, of what type it is, what can be chosen, whether it must be."""
    spec = spec if isinstance(spec, dict) else {}
    said = [str(spec[key]) for key in ("title", "description") if spec.get(key)]
    choices = _choices(spec)
    kind = f"one of {', '.join(choices)}" if choices else str(spec.get("type", "string"))
    if spec.get("type") == "array":
        kind = f"a list of {', '.join(choices) or 'values'}, as JSON"
    if isinstance(spec.get("format"), str):
        kind += f" ({spec['format']})"
    parts = [*said, kind, "required" if needed else "may be left out"]
    if "default" in spec:
        parts.append(f"otherwise {spec['default']}")
    return visible("; ".join(parts), lines=False)


def _choices(spec: Mapping[str, Any]) -> list[str]:
    """What can be chosen, in each of the ways in which a form says so; what a value is called stands behind it."""
    items = spec.get("items")
    if isinstance(items, dict):
        return _choices(items)
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
@click.option("--decline", "action", flag_value="decline", help="Do not tell it.")
@click.option("--cancel", "action", flag_value="cancel", help="Neither yes nor no.")
@json_option
def answer(id: str, fields: tuple[str, ...], action: str | None, as_json: bool) -> None:
    """Answer a question. What you fill in goes to that server, and into no record.

    \b
    doorward approvals answer 01k9x2m4q7ab3cde name=Ada age=36
    doorward approvals answer 01k9x2m4q7ab3cde --decline

    Without fields you are shown the question and asked for each.
    """
    if action is not None:
        if fields:
            raise click.UsageError("Fields are for an answer that is given; leave out --decline and --cancel.")
        as_owner("mcp/answer", as_json, question=id, action=action)
    asked = _asked(id)
    form = asked.get("form") or {}
    content = _read(fields, form)
    if not fields and sys.stdin.isatty() and sys.stdout.isatty() and not as_json and asked:
        given = _filled_in(asked, form)
        if given is None:
            as_owner("mcp/answer", as_json, question=id, action="decline")
        content = given or {}
    as_owner("mcp/answer", as_json, question=id, action="accept", content=content or None)


def _asked(id: str) -> Mapping[str, Any]:
    """The question, if it is one of ours; answering one that is not says so by itself."""
    return next((one for one in _waiting() if one["id"] == id), {})


def _waiting() -> list[dict[str, Any]]:
    outcome = client.run(Ask(command="mcp/questions", params={}))
    items: list[dict[str, Any]] = outcome.result["items"] if outcome.status == "done" else []
    return items


def _read(fields: Sequence[str], form: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for one in fields:
        name, equals, text = one.partition("=")
        if not equals:
            raise click.UsageError(f"A field is given as FIELD=VALUE; given {one!r}.")
        content[name] = value_of(text, form.get("properties", {}).get(name, {}))
    return content


def value_of(text: str, spec: Mapping[str, Any]) -> Any:
    """A text where the form wants one, and what it is as JSON elsewhere."""
    if spec.get("type", "string") == "string":
        return text
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text  # whoever checks it against the form says best what is wrong


def _filled_in(asked: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the person at the terminal fills in; None when they do not want to."""
    click.echo(f"{asked['server']} asks, to go on with {asked['command']}:\n\n{asked['message']}\n")
    properties = form.get("properties", {})
    if not properties:
        return {} if click.confirm("Say yes?", default=False) else None
    content: dict[str, Any] = {}
    for name, spec in properties.items():
        label = f"{visible(name, lines=False)} ({about(spec, name in form.get('required', ()))})"
        text = click.prompt(label, default="", show_default=False)
        if text:
            content[name] = value_of(text, spec)
    return content if click.confirm(f"Send this to {asked['server']}?", default=True) else None
