"""Built-ins for the session itself: folder, variables, aliases, history."""

from __future__ import annotations

import re

from doorward.core.command import shorten
from doorward.core.errors import NotFound
from doorward.shell.builtins.builtin import builtin
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "This session"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_FIXED_VARIABLES = ("HOME", "OLDPWD", "PWD", "USER")


@builtin("cd", "[folder|-]", ["/workspace"], group=_GROUP)
async def cd(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Change the folder; without an argument to your home, with - to the previous folder."""
    if len(options.words) > 1:
        raise UsageError("it takes one folder")
    session = speaker.session
    word = options.words[0] if options.words else "~"
    there = session.before if word == "-" else speaker.absolute_path(word)
    try:
        found = await speaker.tree.item(there)
    except NotFound:
        speaker.write_error(f"{word}: No such file or directory")
        return
    if found["kind"] != "folder" and found.get("leadsTo") != "folder":
        speaker.write_error(f"{word}: Not a directory")
        return
    session.before, session.cwd = session.cwd, there
    await speaker.save_session()
    if word == "-":
        speaker.write_line(there)


@builtin("pwd", "", group=_GROUP)
async def pwd(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the current folder."""
    speaker.write_line(speaker.session.cwd)


@builtin("mounts", "", group=_GROUP)
async def mounts(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the top-level folders of the virtual file tree, and what each contains."""
    shown = speaker.session.mounts
    width = max(len(path) for path in shown)
    for path, what in shown.items():
        speaker.write_line(f"{path:<{width}}  {what}")


@builtin("export", "[name=value…]", ["EDITOR=none"], group=_GROUP)
async def export(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Set variables of this session; without arguments, print them."""
    if not options.words:
        _print_all(speaker, "export ")
        return
    for word in options.words:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            raise UsageError(f"{shorten(name)} is not a valid variable name")
        if equals or name not in speaker.session.env:
            speaker.session.set_variable(name, value if equals else speaker.session.get_variable(name) or "")
    await speaker.save_session()


@builtin("set", "[name value]", group=_GROUP)
async def set_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print all variables, or set one."""
    if not options.words:
        _print_all(speaker, "")
        return
    if len(options.words) != 2 or not _NAME.fullmatch(options.words[0]):
        raise UsageError("it takes a name and a value")
    speaker.session.set_variable(*options.words)
    await speaker.save_session()


@builtin("unset", "name…", ["EDITOR"], group=_GROUP)
async def unset(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Remove variables of this session."""
    if not options.words:
        raise UsageError("a name is missing")
    for name in options.words:
        speaker.session.unset_variable(name)
    await speaker.save_session()


@builtin("env", "[name…]", group=_GROUP, also=["printenv"])
async def env(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the variables of this session, or the values of the named ones."""
    for name in options.words:
        value = speaker.session.get_variable(name)
        if value is None:
            speaker.set_exit_code(1)
        else:
            speaker.write_line(value)
    if not options.words:
        _print_all(speaker, "")


@builtin("alias", "[name=text…]", ["la=ls -la"], group=_GROUP)
async def alias(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Define aliases for commands; without arguments, print them."""
    known = speaker.session.aliases
    for word in options.words:
        name, equals, text = word.partition("=")
        if equals:
            speaker.session.set_alias(name, text)
        elif name in known:
            speaker.write_line(f"alias {name}={_quote(known[name])}")
        else:
            speaker.write_error(f"{name}: not found")
    if not options.words:
        for name, text in sorted(known.items()):
            speaker.write_line(f"alias {name}={_quote(text)}")
    await speaker.save_session()


@builtin("unalias", "[-a] name…", ["-a"], group=_GROUP, options={"-a": "Remove all"})
async def unalias(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Remove aliases."""
    if "-a" in options:
        speaker.session.aliases.clear()
    elif not options.words:
        raise UsageError("a name is missing")
    for name in options.words:
        if speaker.session.aliases.pop(name, None) is None:
            speaker.write_error(f"{name}: not found")
    await speaker.save_session()


@builtin("history", "[-c] [count]", group=_GROUP, options={"-c": "Clear it"})
async def history(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the lines typed in this session, oldest first, or only the last `count` ones."""
    lines = speaker.session.history
    if "-c" in options:
        lines.clear()
        await speaker.save_session()
        return
    most = options.words[0] if options.words else "1000000"
    if len(options.words) > 1 or not re.fullmatch(r"[0-9]{1,9}", most):
        raise UsageError("it takes one whole number")
    first = max(0, len(lines) - int(most))
    for number, line in enumerate(lines[first:], first + 1):
        speaker.write_line(f"{number:>5}  {line}")


@builtin("exit", "[code]", group=_GROUP, also=["logout", "quit"])
async def exit_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Exit the shell, with an optional exit code."""
    code = options.words[0] if options.words else str(speaker.session.status)
    if len(options.words) > 1 or not re.fullmatch(r"[0-9]{1,3}", code):
        raise UsageError("it takes one exit code from 0 to 255")
    speaker.exits = True
    speaker.set_exit_code(int(code) & 255)


@builtin("clear", "", group=_GROUP)
async def clear(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Clear the screen of a terminal; without a terminal, do nothing."""


def _print_all(speaker: BuiltinRun, before: str) -> None:
    session = speaker.session
    for name in sorted({*session.env, *_FIXED_VARIABLES}):
        speaker.write_line(
            f"{before}{name}={_quote(session.get_variable(name) or '') if before else session.get_variable(name)}"
        )


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
