"""Find and hide secrets in lines of the session shell: the values of variables whose names suggest a secret.

Secrets are hidden by value in everything that is recorded, because an expanded variable can appear anywhere: in the
arguments of a program, in a written file, or in an error message.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.core import redact
from doorward.shell.parser import ShellSyntaxError, parse_script
from doorward.shell.syntax import Text, Word

if TYPE_CHECKING:
    from doorward.commands.context import Context
    from doorward.shell.session import ShellSession

_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_SETS = "set"
_WORD = r"""(?:'[^']*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|\\.|[^\s;|&<>()'"\\])++"""
_ASSIGNMENT = re.compile(
    rf"""(?:(?<![\w$])(?P<name>[A-Za-z_]\w{{0,99}})=|\bset[ \t]+["']?(?P<set>[A-Za-z_]\w{{0,99}})["']?[ \t]+)"""
    rf"(?P<value>{_WORD})",
    re.DOTALL | re.ASCII,
)
_REFERENCE = re.compile(r"\$(?:\w+|\{\w+\}|\(.*\))", re.DOTALL)
"""A reference to a secret is not a secret itself."""


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret. PWD is the current folder, in spite of its name."""
    return name != "PWD" and redact.is_secret_name(name)


def secrets_in_text(text: Any) -> Iterator[str]:
    """The secrets in lines of the shell, as values and as they are spelled; the lines may be malformed."""
    if not isinstance(text, str) or not any(map(is_secret, set(_NAME.findall(text)))):
        return
    for found in _ASSIGNMENT.finditer(text):
        if is_secret(found["name"] or found["set"]):
            yield from _spellings(found["value"])
    try:
        script = parse_script(text)
    except ShellSyntaxError:
        return
    for stage in (stage for line in script.lines for stage in line.stages):
        for name, word in stage.sets:
            if is_secret(name):
                yield from (part.text for part in word.parts if isinstance(part, Text))
        yield from secrets_in_words([_unexpanded_text(word) for word in stage.words])


def secrets_in_words(words: Sequence[Any]) -> Iterator[str]:
    """The secrets among the words of one command: `name=value`, or `set name value`."""
    plain = [word if isinstance(word, str) else "" for word in words]
    for word in plain:
        name, equals, value = word.partition("=")
        if equals and _NAME.fullmatch(name) and is_secret(name):
            yield value
    for (first, name), value in zip(pairwise(plain), plain[2:], strict=False):
        if first == _SETS and is_secret(name):
            yield value


def secrets_in_steps(params: Mapping[str, Any]) -> Iterator[str]:
    """The secrets in the parameters of shell/script."""
    yield from secrets_in_text(params.get("script"))
    commands = params.get("commands")
    for step in commands if isinstance(commands, list) else ():
        yield from secrets_in_text(step)
        inner = step.get("params") if isinstance(step, dict) else None
        if isinstance(inner, dict):
            yield from secrets_in_args(str(step.get("command")), inner)


def secrets_in_args(word: str, params: Mapping[str, Any]) -> Iterator[str]:
    """The secrets in the parameters of a built-in, or of a command with the same parameters."""
    args = params.get("args")
    if isinstance(args, list):
        yield from secrets_in_words([word.removeprefix("sh/"), *args])
        for one in args:
            yield from secrets_in_text(one)


def hide_secrets(ctx: Context, session: ShellSession) -> Context:
    """A context whose inner calls hide the secrets that this session holds by now."""
    secrets = [one for one in session.secrets if one not in ctx.call.known_secrets]
    if not secrets:
        return ctx
    return msgspec.structs.replace(
        ctx, call=msgspec.structs.replace(ctx.call, known_secrets=(*ctx.call.known_secrets, *secrets))
    )


def redact_secrets(text: str, secrets: Sequence[str]) -> str:
    """Remove these secrets from a text, in any spelling."""
    return redact.remove(text, redact.collect_secrets({}, (), secrets)) if secrets else text


def _spellings(word: str) -> Iterator[str]:
    """A value as it is spelled in a line, and without its quotes."""
    try:
        meant = "".join(shlex.split(word))
    except ValueError:
        meant = word.strip("\"'")
    if not _REFERENCE.fullmatch(meant) or word.startswith("'"):
        yield from {word, word.strip("\"'"), meant}


def _unexpanded_text(word: Word) -> str:
    """The text of a word before expansion."""
    return "".join(part.text for part in word.parts if isinstance(part, Text))
