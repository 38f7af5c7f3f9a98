"""Detect scripts that would obviously destroy something, by their text.

This catches mistakes before they run. It is not the protection: that is the sandbox.
"""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator

from doorward.commands.programs.script_parser import Pipeline, ScriptTooComplex, SimpleCommand, Word, parse_script


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SHELLS = _set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash")
_INTERPRETERS = re.compile(r"(python|perl|ruby|node|nodejs|php|lua|pwsh|osascript)[0-9.]*")
_DOWNLOADERS = _set("curl wget fetch aria2c axel lynx links w3m http https xh ftp tftp nc ncat socat")
_WRAPPERS = _set(
    "sudo doas env nice ionice nohup timeout time command builtin exec stdbuf setsid chronic busybox toybox xargs"
    " parallel unbuffer script chroot unshare nsenter su runuser strace ltrace watch"
)
_TAKES_A_VALUE = {
    "sudo": _set("-u -g -p -C -h -D -R -r -t -T -U"),
    "doas": _set("-u -C"),
    "env": _set("-u -C"),
    "timeout": _set("-k -s"),
    "xargs": _set("-I -n -P -L -d -a -s -E"),
    "ionice": _set("-c -n -p"),
    "su": _set("-s -g -G"),
}
_RESERVED = _set("if then elif else fi for while until do done case esac { } ! function coproc")
_AFTER_WRAPPER = re.compile(r"-.*|[A-Za-z_][A-Za-z0-9_]*=.*|[0-9.]+[smhd]?|\{\}", re.DOTALL)
_DEVICE = re.compile(
    r"/dev/((sd|hd|vd|xvd)[a-z*?\[{]|nvme|mmcblk|disk|mapper/|dm-|loop|md[0-9]|sr[0-9]|nbd|mem$|kmem$|port$|block/|root$)"
)
_DISK_TOOLS = re.compile(r"mkfs(\..*)?|mke2fs|mkswap|wipefs|blkdiscard|fdisk|sfdisk|cfdisk|sgdisk|gdisk|parted|hdparm")
_SYSTEM = _set("bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr var")
_PROTECTED = ("etc", "sys")
_WRITES_ALL = _set("tee touch mkdir rmdir rm unlink truncate chmod chown chgrp shred mv setfacl chattr")
_WRITES_LAST = frozenset({"cp", "install", "ln", "rsync", "scp"})
_DEEPEST = 8


def explain_refusal(script: str) -> str:
    """Why a script is refused before it starts, as a clause; empty if nothing destructive is found."""
    return _explain(script, 0)


def _explain(script: str, depth: int) -> str:
    if depth > _DEEPEST:
        return "nests scripts within scripts too deeply to check"
    try:
        pipelines = parse_script(script)
    except (ScriptTooComplex, RecursionError):
        return "is too long or too deeply nested to check"
    return _check_pipelines(pipelines, depth)


def _check_pipelines(pipelines: Iterable[Pipeline], depth: int) -> str:
    folder = ""
    for pipeline in pipelines:
        for command in pipeline.commands:
            program, words = resolve_program(command)
            if program == "cd" and words:
                folder = words[-1].text
            why = _check_command(command, program, words, folder, depth)
            if why:
                return why
        why = _check_pipe(pipeline, depth)
        if why:
            return why
    return ""


def resolve_program(command: SimpleCommand) -> tuple[str, list[Word]]:
    """The program that a command runs behind wrappers such as `sudo` and `env`, and its arguments."""
    words = list(command.words)
    while words and words[0].text in _RESERVED:
        words.pop(0)
    while words:
        name = posixpath.basename(words[0].text)
        if name not in _WRAPPERS:
            return name, words[1:]
        words.pop(0)
        while words and _AFTER_WRAPPER.fullmatch(words[0].text):
            option = words.pop(0).text
            if option in _TAKES_A_VALUE.get(name, ()) and words:
                words.pop(0)
    return "", []


def _check_command(command: SimpleCommand, program: str, words: list[Word], folder: str, depth: int) -> str:
    texts = [word.text for word in words]
    for word in (*command.words, *command.fed, *(one.target for one in command.redirects)):
        why = _check_pipelines(word.inner, depth)
        if why:
            return why
    return (
        _check_removal(program, texts, folder)
        or _check_permissions(program, texts)
        or _check_writes(command, program, texts, folder)
        or _check_downloads(command, program, words)
        or _check_inner_scripts(command, program, texts, depth)
    )


def _check_removal(program: str, texts: list[str], folder: str) -> str:
    flags = [text for text in texts if text.startswith("-")]
    targets = [_absolute(text, folder) for text in texts if not text.startswith("-")]
    if program == "rm":
        if any(flag.startswith("--no-p") for flag in flags):
            return "tells rm not to protect the root folder"
        recursive = any(
            flag.startswith("--r") if flag.startswith("--") else bool({"r", "R"} & set(flag)) for flag in flags
        )
        if recursive and any(_is_system(target) for target in targets):
            return "removes the root folder or a system folder with everything in it"
    if program == "find" and any(_is_system(target) for target in targets[:1]):
        runs = [texts[place + 1] for place, text in enumerate(texts[:-1]) if text in ("-exec", "-execdir", "-ok")]
        if "-delete" in texts or any(posixpath.basename(name) in ("rm", "unlink", "shred") for name in runs):
            return "removes files that it finds in the root folder or a system folder"
    return ""


def _check_permissions(program: str, texts: list[str]) -> str:
    modes: list[str] = []
    if program == "chmod":
        modes = [text for text in texts if not text.startswith("-")][:1]
    elif program in ("install", "mkdir"):
        for place, text in enumerate(texts):
            if text in ("-m", "--mode"):
                modes += texts[place + 1 : place + 2]
            elif text.startswith(("--mode=", "-m")):
                modes.append(text.removeprefix("--mode=").removeprefix("-m"))
    elif program == "find" and "chmod" in [posixpath.basename(text) for text in texts]:
        modes = texts
    return "gives everybody all rights to files (chmod 777)" if any(_is_777(mode) for mode in modes) else ""


def _is_777(mode: str) -> bool:
    if re.fullmatch(r"[0-7]{3,5}", mode):
        return mode.endswith("777")
    granted: dict[str, set[str]] = {"u": set(), "g": set(), "o": set()}
    for clause in mode.split(","):
        found = re.fullmatch(r"([ugoa]+)[+=]([rwxXst]+)", clause)
        if found is None:
            return False
        for who in granted if "a" in found[1] else set(found[1]):
            granted[who] |= set(found[2].replace("X", "x"))
    return all({"r", "w", "x"} <= rights for rights in granted.values())


def _check_writes(command: SimpleCommand, program: str, texts: list[str], folder: str) -> str:
    if _DISK_TOOLS.fullmatch(program) and any(_DEVICE.match(_absolute(text, folder)) for text in texts):
        return "writes to a disk device"
    for target in _write_targets(command, program, texts):
        path = _absolute(target, folder)
        if _DEVICE.match(path):
            return "writes to a disk device"
        if _top_is(path, _PROTECTED):
            return f"writes under {'/sys' if _top_is(path, ('sys',)) else '/etc'}"
    return ""


def _write_targets(command: SimpleCommand, program: str, texts: list[str]) -> Iterator[str]:
    for redirect in command.redirects:
        if ">" in redirect.operator:
            yield redirect.target.text
    operands = [text for text in texts if not text.startswith("-")]
    if program in _WRITES_ALL:
        yield from operands
    elif program in _WRITES_LAST:
        yield from operands[-1:]
    elif program == "dd":
        yield from (text.removeprefix("of=") for text in texts if text.startswith("of="))
    elif program in ("sed", "perl") and any(_is_short(text, "i") or text.startswith("--in-place") for text in texts):
        yield from operands
    elif program in ("curl", "wget"):
        yield from (after for text, after in itertools.pairwise(texts) if text in ("-o", "-O", "--output"))
    for text in texts:
        if program in _WRITES_LAST and text.startswith(("--target-directory=", "-t/")):
            yield text.removeprefix("--target-directory=").removeprefix("-t")


def _check_downloads(command: SimpleCommand, program: str, words: list[Word]) -> str:
    """Detect a shell that runs a download as a script: `bash -c "$(curl …)"`, `source <(curl …)`, `$(curl …)`."""
    runs = program in _SHELLS or program in (".", "source", "eval") or bool(_INTERPRETERS.fullmatch(program))
    handed: list[Word] = [*words, *command.fed] if runs else list(command.words[:1])
    if runs:
        handed += [one.target for one in command.redirects if one.operator == "<"]
    if any(_downloads(word) for word in handed):
        return "runs a download as a script, unread"
    return ""


def _downloads(word: Word) -> bool:
    return any(
        resolve_program(command)[0] in _DOWNLOADERS or any(_downloads(one) for one in command.words)
        for pipeline in word.inner
        for command in pipeline.commands
    )


def _check_pipe(pipeline: Pipeline, depth: int) -> str:
    """Check scripts that one command of a pipeline writes and a later one runs."""
    downloads, said = False, ""
    for command in pipeline.commands:
        program, words = resolve_program(command)
        texts = [word.text for word in words]
        through_xargs = any(posixpath.basename(word.text) in ("xargs", "parallel") for word in command.words)
        if _reads_its_script(program, texts) or (through_xargs and program in _SHELLS):
            if downloads:
                return "runs a download as a script, unread"
            why = _explain(said, depth + 1) if said else ""
            if why:
                return why
        downloads = downloads or program in _DOWNLOADERS or any(_downloads(word) for word in command.words)
        if program in ("echo", "printf"):
            said = " ".join(itertools.dropwhile(lambda text: text.startswith("-"), texts))
        elif program == "cat" and command.fed:
            said = "\n".join(word.text for word in command.fed)
    return ""


def _reads_its_script(program: str, texts: list[str]) -> bool:
    """Whether the program runs its standard input as a script."""
    if program in (".", "source"):
        return "/dev/stdin" in texts
    operands = [text for text in texts if not text.startswith("-") and text != "/dev/stdin"]
    if program in _SHELLS:
        return any(_is_short(text, "s") for text in texts) or not (
            operands or any(_is_short(text, "c") for text in texts)
        )
    if _INTERPRETERS.fullmatch(program):
        return not operands and not any(_is_short(text, "cemr") for text in texts)
    return False


def _check_inner_scripts(command: SimpleCommand, program: str, texts: list[str], depth: int) -> str:
    """Check scripts that a command gets as an argument."""
    scripts: list[str] = []
    if program in _SHELLS:
        behind = list(itertools.dropwhile(lambda text: not _is_short(text, "c"), texts))[1:]
        scripts += [text for text in behind if not text.startswith("-")][:1]
        scripts += [word.text for word in command.fed]
    elif program in ("eval", "trap"):
        scripts.append(" ".join(texts))
    elif program == "find":
        for place, text in enumerate(texts):
            if text in ("-exec", "-execdir", "-ok"):
                scripts.append(" ".join(f"'{word}'" for word in texts[place + 1 :] if word not in (";", "+", "{}")))
    return next(filter(None, (_explain(script, depth + 1) for script in scripts)), "")


def _is_short(text: str, letters: str) -> bool:
    """Whether a word is a cluster of short options that contains one of these letters."""
    return text.startswith("-") and not text.startswith("--") and any(letter in text[:50] for letter in letters)


def _absolute(path: str, folder: str) -> str:
    whole = path if path.startswith("/") or not folder.startswith("/") else f"{folder}/{path}"
    norm = posixpath.normpath(whole) if whole else ""
    return re.sub(r"^/+", "/", norm)


def _is_system(path: str) -> bool:
    """Whether a path is the root folder, everything in it, or a system folder."""
    if not path.startswith("/"):
        return False
    parts = [part for part in path.split("/") if part]
    while parts and re.fullmatch(r"[*.?]+|\[!?\.?\]\*?|\{,\.\}\*", parts[-1]):
        parts.pop()
    if not parts:
        return True
    return len(parts) == 1 and (parts[0] in _SYSTEM or _top_is(path, tuple(_SYSTEM)))


def _top_is(path: str, names: tuple[str, ...]) -> bool:
    """Whether the first part of an absolute path is one of these names, or a pattern that could be."""
    if not path.startswith("/"):
        return False
    top = path[1:].partition("/")[0]
    if top in names:
        return True
    return (
        bool(re.search(r"[*?\[]", top)) and top.strip("*") != "" and any(fnmatch.fnmatch(name, top) for name in names)
    )
