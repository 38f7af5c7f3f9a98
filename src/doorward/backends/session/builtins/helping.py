"""Built-ins for help: help, man, which, type, commands, search, suggest."""

from __future__ import annotations

from doorward.backends.help.spelling import line
from doorward.backends.session.builtins.builtin import GROUPS, KNOWN, Builtin, builtin, manual
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.showing import in_columns, shown, wrapped
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.shell.catalogue_command import AREA, CatalogueCommand
from doorward.command import Command
from doorward.errors import NotFound, UnknownCommand

_GROUP = "Help"


@builtin("help", "[word]", group=_GROUP, also=["man"])
async def help_(speaker: Speaker, options: Options) -> None:
    """List all shell commands in groups, or show the help of one."""
    if not options.words:
        _everything(speaker)
        return
    for word in options.words:
        if word in KNOWN:
            speaker.say(manual(KNOWN[word]))
        else:
            await _described(speaker, word)


@builtin("which", "word…", ["ls"], group=_GROUP)
async def which(speaker: Speaker, options: Options) -> None:
    """Print the command that a word runs."""
    for _, found in _found(speaker, options):
        if found:
            speaker.line(found.name)
        else:
            speaker.ends(1)


@builtin("type", "word…", ["ls"], group=_GROUP)
async def type_(speaker: Speaker, options: Options) -> None:
    """Print what a word is: an alias, a built-in, a program in the sandbox, or another command."""
    for word, found in _found(speaker, options):
        if word in speaker.session.aliases:
            speaker.line(f"{word} is an alias for {shown(speaker.session.aliases[word])}")
        elif found is None:
            speaker.complain(f"{word}: not found")
        elif word in KNOWN:
            speaker.line(f"{word} is a built-in ({found.name})")
        elif isinstance(found, CatalogueCommand):
            speaker.line(f"{word} is a program in the sandbox ({found.name})")
        else:
            speaker.line(f"{word} is the command {found.name}")


@builtin("commands", "[area]", ["file"], group=_GROUP)
async def commands(speaker: Speaker, options: Options) -> None:
    """List the commands you may run here, or those of one area, with a summary of each."""
    area = options.words[0] if options.words else ""
    offered = [one for one in _offered(speaker) if not one.unlisted and (not area or one.name.startswith(f"{area}/"))]
    if not offered:
        raise NotFound(f"You have no commands in the area {area!r} here.")
    speaker.table([{"command": one.name, "what it does": one.summary} for one in offered])


@builtin(
    "search",
    "[-n number] word…",
    ["read", "a", "file"],
    group=_GROUP,
    options={"-n NUMBER": "Maximum results; default 10"},
)
async def search(speaker: Speaker, options: Options) -> None:
    """Search commands by purpose, best match first."""
    if not options.words:
        raise Usage("describe what you want to do")
    most = options.number("-n", 10, least=1, most=100)
    given = await speaker.ask("help/search", query=" ".join(options.words)[:500], limit=most)
    speaker.table(given["items"], ["command", "score", "summary"])
    if not given["items"]:
        speaker.complain("no command that you may run here matches these words; `commands` lists them all")


@builtin("suggest", "word…", ["count", "the", "rooms"], group=_GROUP)
async def suggest(speaker: Speaker, options: Options) -> None:
    """Suggest a command line for a purpose, without running it."""
    if not options.words:
        raise Usage("describe what you want to do")
    given = await speaker.ask("help/suggest", query=" ".join(options.words)[:500], folder=speaker.session.cwd)
    if not given["suggestion"]:
        speaker.complain(given["explanation"])
        return
    speaker.line(given["suggestion"])
    speaker.remark(shown(given["explanation"]))


def _everything(speaker: Speaker) -> None:
    offered = {one.name for one in _offered(speaker)}
    for group in GROUPS:
        known = sorted(
            (one for one in KNOWN.values() if one.group == group and one.command in offered), key=lambda one: one.word
        )
        if not known:
            continue
        speaker.line(f"{group}:")
        width = max(len(one.word) for one in known)
        for one in known:
            speaker.line(f"  {one.word:<{width}}  {_fitting(speaker, _summary(one), width + 4)}")
        speaker.line()
    programs = sorted(_bare(one) for one in _offered(speaker) if isinstance(one, CatalogueCommand))
    if programs:
        speaker.line("Programs in the sandbox:")
        speaker.say(in_columns([name for name in programs if name not in KNOWN], speaker.columns or 80))
        speaker.line()
    more = "All other commands work too, such as data/list --collection=rooms. More: help WORD, commands, search."
    speaker.line(_fitting(speaker, more, 0))


def _fitting(speaker: Speaker, text: str, indent: int) -> str:
    """Wrap a text to the screen, if there is one."""
    return wrapped(text, speaker.columns, indent) if speaker.columns else text


def _summary(one: Builtin) -> str:
    first = next(iter(KNOWN[word].word for word in KNOWN if KNOWN[word].command == one.command))
    return one.summary if first == one.word else f"The same as {first}."


def _offered(speaker: Speaker) -> list[Command]:
    return speaker.ctx.house.offered(speaker.ctx.caller, speaker.ctx.call.room)


def _bare(command: Command) -> str:
    return command.name.removeprefix(f"{AREA}/")


def _found(speaker: Speaker, options: Options) -> list[tuple[str, Command | None]]:
    """The offered command that each word runs, by the shell's lookup order."""
    if not options.words:
        raise Usage("a word is missing")
    offered = {one.name: one for one in _offered(speaker)}
    found = []
    for word in options.words:
        name = KNOWN[word].command if word in KNOWN else f"{AREA}/{word}"
        command = offered.get(name)
        if command is None:
            try:
                command = offered.get(speaker.ctx.house.registry.resolve(word, offered).name)
            except UnknownCommand:
                command = None
        found.append((word, command))
    return found


async def _described(speaker: Speaker, word: str) -> None:
    """Print the help of a program or of another command."""
    try:
        told = await speaker.ask("help/describe", command=word)
    except UnknownCommand as error:
        speaker.complain(error.message)
        return
    command = speaker.ctx.house.registry[told["name"]]
    speaker.line(f"{told['name']}: {told['description']}")
    if isinstance(command, CatalogueCommand):
        _usage(speaker, command)
    else:
        speaker.line(_fitting(speaker, f"parameters: {told['usage']}", 2))
    for example in told["examples"]:
        speaker.line(f"for example: {shown(line(command, example['params']))}  # {example['says']}")


def _usage(speaker: Speaker, command: CatalogueCommand) -> None:
    """Print the usage line and the options of a program."""
    entry = command.entry
    words = [f"<{one.name}>{'…' if one.many else ''}" for one in entry.arguments]
    options = ["[option…]"] if entry.options else []
    speaker.line(_fitting(speaker, " ".join(["usage:", _bare(command), *options, *words]), 2))
    spelt = {one.name: " ".join(filter(None, (one.short, one.long))) for one in entry.options}
    wide = max(map(len, spelt.values()), default=0)
    for one in entry.options:
        speaker.line(f"  {spelt[one.name]:<{wide}}  {_fitting(speaker, one.help, wide + 4)}")
