"""Built-ins for help: help, man, which, type, commands, search, suggest."""

from __future__ import annotations

from doorward.commands.help.shell_line import format_line
from doorward.commands.programs.catalogue_command import AREA, CatalogueCommand
from doorward.core.command import Command
from doorward.core.errors import NotFound, UnknownCommand
from doorward.core.schema_words import usage_words
from doorward.shell.builtins.builtin import BUILTINS_BY_WORD, GROUPS, Builtin, builtin, render_manual
from doorward.shell.builtins.formatting import escape_name, format_columns, wrap_text
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "Help"
_WIDEST_PARAMETER = 40
"""Wider parameters, such as those with many values, do not push the descriptions of the others to the right."""


@builtin("help", "[word]", group=_GROUP, also=["man"])
async def help_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List all shell commands in groups, or show the help of one."""
    if not options.words:
        _list_all(speaker)
        return
    for word in options.words:
        if word in BUILTINS_BY_WORD:
            speaker.write(render_manual(BUILTINS_BY_WORD[word]))
        else:
            await _describe(speaker, word)


@builtin("which", "word…", ["ls"], group=_GROUP)
async def which(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the command that a word runs."""
    for _, found in _look_up(speaker, options):
        if found:
            speaker.write_line(found.name)
        else:
            speaker.set_exit_code(1)


@builtin("type", "word…", ["ls"], group=_GROUP)
async def type_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print what a word is: an alias, a built-in, a program in the sandbox, or another command."""
    for word, found in _look_up(speaker, options):
        if word in speaker.session.aliases:
            speaker.write_line(f"{word} is an alias for {escape_name(speaker.session.aliases[word])}")
        elif found is None:
            speaker.write_error(f"{word}: not found")
        elif word in BUILTINS_BY_WORD:
            speaker.write_line(f"{word} is a built-in ({found.name})")
        elif isinstance(found, CatalogueCommand):
            speaker.write_line(f"{word} is a program in the sandbox ({found.name})")
        else:
            speaker.write_line(f"{word} is the command {found.name}")


@builtin("commands", "[area]", ["file"], group=_GROUP)
async def commands(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the commands you may run here, or those of one area, with a summary of each."""
    area = options.words[0] if options.words else ""
    offered = [
        one for one in _offered_commands(speaker) if not one.unlisted and (not area or one.name.startswith(f"{area}/"))
    ]
    if not offered:
        raise NotFound(f"You have no commands in the area {area!r} here.")
    speaker.write_table([{"command": one.name, "what it does": one.summary} for one in offered])


@builtin(
    "search",
    "[-n number] word…",
    ["read", "a", "file"],
    group=_GROUP,
    options={"-n NUMBER": "Maximum results; default 10"},
)
async def search(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Search commands by purpose, best match first."""
    if not options.words:
        raise UsageError("describe what you want to do")
    most = options.number("-n", 10, least=1, most=100)
    given = await speaker.call("help/search", query=" ".join(options.words)[:500], limit=most)
    speaker.write_table(given["items"], ["command", "score", "summary"])
    if not given["items"]:
        speaker.write_error("no command that you may run here matches these words; `commands` lists them all")


@builtin("suggest", "word…", ["count", "the", "rooms"], group=_GROUP)
async def suggest(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Suggest a command line for a purpose, without running it."""
    if not options.words:
        raise UsageError("describe what you want to do")
    given = await speaker.call("help/suggest", query=" ".join(options.words)[:500], folder=speaker.session.cwd)
    if not given["suggestion"]:
        speaker.write_error(given["explanation"])
        return
    speaker.write_line(given["suggestion"])
    speaker.write_note(escape_name(given["explanation"]))


def _list_all(speaker: BuiltinRun) -> None:
    offered = {one.name for one in _offered_commands(speaker)}
    for group in GROUPS:
        known = sorted(
            (one for one in BUILTINS_BY_WORD.values() if one.group == group and one.command in offered),
            key=lambda one: one.word,
        )
        if not known:
            continue
        speaker.write_line(f"{group}:")
        width = max(len(one.word) for one in known)
        for one in known:
            speaker.write_line(f"  {one.word:<{width}}  {_wrap(speaker, _summary(one), width + 4)}")
        speaker.write_line()
    programs = sorted(_program_word(one) for one in _offered_commands(speaker) if isinstance(one, CatalogueCommand))
    if programs:
        speaker.write_line("Programs in the sandbox:")
        speaker.write(
            format_columns([name for name in programs if name not in BUILTINS_BY_WORD], speaker.columns or 80)
        )
        speaker.write_line()
    more = "All other commands work too, such as data/list --collection=rooms. More: help WORD, commands, search."
    speaker.write_line(_wrap(speaker, more, 0))


def _wrap(speaker: BuiltinRun, text: str, indent: int) -> str:
    """Wrap a text to the screen, if there is one."""
    return wrap_text(text, speaker.columns, indent) if speaker.columns else text


def _summary(one: Builtin) -> str:
    first = next(
        iter(BUILTINS_BY_WORD[word].word for word in BUILTINS_BY_WORD if BUILTINS_BY_WORD[word].command == one.command)
    )
    return one.summary if first == one.word else f"The same as {first}."


def _offered_commands(speaker: BuiltinRun) -> list[Command]:
    return speaker.ctx.services.offered(speaker.ctx.caller, speaker.ctx.call.room)


def _program_word(command: Command) -> str:
    return command.name.removeprefix(f"{AREA}/")


def _look_up(speaker: BuiltinRun, options: BuiltinOptions) -> list[tuple[str, Command | None]]:
    """The offered command that each word runs, by the shell's lookup order."""
    if not options.words:
        raise UsageError("a word is missing")
    offered = {one.name: one for one in _offered_commands(speaker)}
    found = []
    for word in options.words:
        name = BUILTINS_BY_WORD[word].command if word in BUILTINS_BY_WORD else f"{AREA}/{word}"
        command = offered.get(name)
        if command is None:
            try:
                command = offered.get(speaker.ctx.services.registry.resolve(word, offered).name)
            except UnknownCommand:
                command = None
        found.append((word, command))
    return found


async def _describe(speaker: BuiltinRun, word: str) -> None:
    """Print the help of a program or of another command."""
    try:
        told = await speaker.call("help/describe", command=word)
    except UnknownCommand as error:
        speaker.write_error(error.message)
        return
    command = speaker.ctx.services.registry[told["name"]]
    speaker.write_line(f"{told['name']}: {told['description']}")
    if isinstance(command, CatalogueCommand):
        _print_usage(speaker, command)
    else:
        _print_parameters(speaker, command)
    for example in told["examples"]:
        speaker.write_line(f"for example: {escape_name(format_line(command, example['params']))}  # {example['says']}")


def _print_parameters(speaker: BuiltinRun, command: Command) -> None:
    """Print each parameter with its description, required ones bare and optional ones in brackets."""
    words = usage_words(command.schema, command.schema.get("required", []))
    speaker.write_line("parameters:" if words else "parameters: none")
    shown = {key: escape_name(word) for key, word in words.items()}
    wide = max((len(word) for word in shown.values() if len(word) <= _WIDEST_PARAMETER), default=_WIDEST_PARAMETER)
    for key, word in shown.items():
        spec = command.schema["properties"][key]
        about = escape_name(str(spec.get("description", ""))) if isinstance(spec, dict) else ""
        speaker.write_line(f"  {word:<{wide}}  {_wrap(speaker, about, wide + 4)}".rstrip())


def _print_usage(speaker: BuiltinRun, command: CatalogueCommand) -> None:
    """Print the usage line and the options of a program."""
    entry = command.entry
    words = [f"<{one.name}>{'…' if one.many else ''}" for one in entry.arguments]
    options = ["[option…]"] if entry.options else []
    speaker.write_line(_wrap(speaker, " ".join(["usage:", _program_word(command), *options, *words]), 2))
    spelt = {one.name: " ".join(filter(None, (one.short, one.long))) for one in entry.options}
    wide = max(map(len, spelt.values()), default=0)
    for one in entry.options:
        speaker.write_line(f"  {spelt[one.name]:<{wide}}  {_wrap(speaker, one.help, wide + 4)}")
