"""Built-ins for the session itself: folder, variables, aliases, history."""

from __future__ import annotations

import re

from doorward.backends.session.builtins.builtin import builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.speaking import Speaker
from doorward.command import shortened
from doorward.errors import NotFound

_GROUP = "This session"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_ALWAYS = ("HOME", "OLDPWD", "PWD", "USER")


@builtin("cd", "[folder|-]", ["/workspace"], group=_GROUP)
async def cd(speaker: Speaker, options: Options) -> None:
    """Change the folder; without an argument to your home, with - to the previous folder."""
    if len(options.words) > 1:
        raise Usage("it takes one folder")
    session = speaker.session
    word = options.words[0] if options.words else "~"
    there = session.before if word == "-" else speaker.path(word)
    try:
        found = await speaker.tree.item(there)
    except NotFound:
        speaker.complain(f"{word}: No such file or directory")
        return
    if found["kind"] != "folder" and found.get("leadsTo") != "folder":
        speaker.complain(f"{word}: Not a directory")
        return
    session.before, session.cwd = session.cwd, there
    await speaker.keep()
    if word == "-":
        speaker.line(there)


@builtin("pwd", "", group=_GROUP)
async def pwd(speaker: Speaker, options: Options) -> None:
    """Print the current folder."""
    speaker.line(speaker.session.cwd)


@builtin("mounts", "", group=_GROUP)
async def mounts(speaker: Speaker, options: Options) -> None:
    """Print the top-level folders of the virtual file tree, and what each contains."""
    shown = speaker.session.mounts
    width = max(len(path) for path in shown)
    for path, what in shown.items():
        speaker.line(f"{path:<{width}}  {what}")


@builtin("export", "[name=value…]", ["EDITOR=none"], group=_GROUP)
async def export(speaker: Speaker, options: Options) -> None:
    """Set variables of this session; without arguments, print them."""
    if not options.words:
        _print_all(speaker, "export ")
        return
    for word in options.words:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            raise Usage(f"{shortened(name)} is not a valid variable name")
        if equals or name not in speaker.session.env:
            speaker.session.set(name, value if equals else speaker.session.variable(name) or "")
    await speaker.keep()


@builtin("set", "[name value]", group=_GROUP)
async def set_(speaker: Speaker, options: Options) -> None:
    """Print all variables, or set one."""
    if not options.words:
        _print_all(speaker, "")
        return
    if len(options.words) != 2 or not _NAME.fullmatch(options.words[0]):
        raise Usage("it takes a name and a value")
    speaker.session.set(*options.words)
    await speaker.keep()


@builtin("unset", "name…", ["EDITOR"], group=_GROUP)
async def unset(speaker: Speaker, options: Options) -> None:
    """Remove variables of this session."""
    if not options.words:
        raise Usage("a name is missing")
    for name in options.words:
        speaker.session.unset(name)
    await speaker.keep()


@builtin("env", "[name…]", group=_GROUP, also=["printenv"])
async def env(speaker: Speaker, options: Options) -> None:
    """Print the variables of this session, or the values of the named ones."""
    for name in options.words:
        value = speaker.session.variable(name)
        if value is None:
            speaker.ends(1)
        else:
            speaker.line(value)
    if not options.words:
        _print_all(speaker, "")


@builtin("alias", "[name=text…]", ["la=ls -la"], group=_GROUP)
async def alias(speaker: Speaker, options: Options) -> None:
    """Define aliases for commands; without arguments, print them."""
    known = speaker.session.aliases
    for word in options.words:
        name, equals, text = word.partition("=")
        if equals:
            speaker.session.alias(name, text)
        elif name in known:
            speaker.line(f"alias {name}={_quoted(known[name])}")
        else:
            speaker.complain(f"{name}: not found")
    if not options.words:
        for name, text in sorted(known.items()):
            speaker.line(f"alias {name}={_quoted(text)}")
    await speaker.keep()


@builtin("unalias", "[-a] name…", ["-a"], group=_GROUP, options={"-a": "Remove all"})
async def unalias(speaker: Speaker, options: Options) -> None:
    """Remove aliases."""
    if "-a" in options:
        speaker.session.aliases.clear()
    elif not options.words:
        raise Usage("a name is missing")
    for name in options.words:
        if speaker.session.aliases.pop(name, None) is None:
            speaker.complain(f"{name}: not found")
    await speaker.keep()


@builtin("history", "[-c] [count]", group=_GROUP, options={"-c": "Clear it"})
async def history(speaker: Speaker, options: Options) -> None:
    """Print the lines typed in this session, oldest first, or only the last `count` ones."""
    lines = speaker.session.history
    if "-c" in options:
        lines.clear()
        await speaker.keep()
        return
    most = options.words[0] if options.words else "1000000"
    if len(options.words) > 1 or not re.fullmatch(r"[0-9]{1,9}", most):
        raise Usage("it takes one whole number")
    first = max(0, len(lines) - int(most))
    for number, line in enumerate(lines[first:], first + 1):
        speaker.line(f"{number:>5}  {line}")


@builtin("exit", "[code]", group=_GROUP, also=["logout", "quit"])
async def exit_(speaker: Speaker, options: Options) -> None:
    """Exit the shell, with an optional exit code."""
    code = options.words[0] if options.words else str(speaker.session.status)
    if len(options.words) > 1 or not re.fullmatch(r"[0-9]{1,3}", code):
        raise Usage("it takes one exit code from 0 to 255")
    speaker.leaves = True
    speaker.ends(int(code) & 255)


@builtin("clear", "", group=_GROUP)
async def clear(speaker: Speaker, options: Options) -> None:
    """Clear the screen of a terminal; without a terminal, do nothing."""


def _print_all(speaker: Speaker, before: str) -> None:
    session = speaker.session
    for name in sorted({*session.env, *_ALWAYS}):
        speaker.line(f"{before}{name}={_quoted(session.variable(name) or '') if before else session.variable(name)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
