"""Plans that change something. Each needs a clear verb, and none destroys what no person is asked about."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.agents.house import filing, knowledge, recording, smalltalk
from doorward.agents.house.knowledge import Intent
from doorward.agents.house.plan import Around, NotOffered, Step, Steps, Telling, Unknown, items
from doorward.agents.house.slots import clean
from doorward.agents.house.telling import Asked, quoting
from doorward.core import redact

Planner = Callable[[Around, Intent, Asked], Steps]
_MOST = 200
"""Files that are deleted by one request at most."""
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’"}
_FULL_STOP = re.compile(r"(?<=[\w'\")])[.!]+\s*$|\s+!?$")
"""What ends a sentence and no line: a dot that stands alone is a folder."""
_SHELL_SIGNS = re.compile(r"[;&|<>$`\\\n*?(){}\[\]~#!]")
_SHOWN = 3
"""Changes that are named where it is not clear which is to be taken back."""
_UNDOABLE = ["undo", "file/undo"]


def unquoted(text: str) -> str:
    """What stands in quotation marks, if they hold all of it."""
    text = text.strip()
    end = _QUOTES.get(text[:1], "")
    inside = text[1:-1]
    return inside if end and len(text) > 2 and text.endswith(end) and end not in inside else text


def caught(around: Around, name: str) -> str:
    return unquoted(around.slots.caught.get(name, ""))


def path_of(around: Around, name: str = "path") -> str:
    return filing.home_of(clean(caught(around, name)), around.slots.seen.speaker)


def needs(around: Around, *commands: str) -> str:
    found = around.offered(*commands)
    if not found:
        raise NotOffered(commands[0])
    return found


def _write(around: Around, intent: Intent, asked: Asked) -> Steps:
    command = needs(around, "file/write", "vfs/write")
    path, content = path_of(around), caught(around, "content")
    spelt = filing.virtual(path) if command == "vfs/write" else path
    got = yield [Step(command, {"path": spelt, "content": content})]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _empty(around: Around, intent: Intent, asked: Asked) -> Steps:
    path = path_of(around)
    command = needs(around, "file/write", "shell/touch")
    params: dict[str, Any] = {"path": path, "content": "", "expectedDigest": ""}
    got = yield [Step(command, params if command == "file/write" else {"files": [path]})]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _append(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Put a line behind what is there, which is looked at first: the last line may not have been ended.

    What it was shown of the file is without its secrets, so that is not written back where there is another way.
    """
    path, content = path_of(around), caught(around, "content")
    needs(around, "file/read")
    (was,) = yield [Step("file/read", {"path": path}, lookup=True)]
    old = was.value if isinstance(was.value, dict) else {}
    text = str(old.get("content", ""))
    if "vfs/append" in around.tools:
        step = Step("vfs/append", {"path": filing.virtual(path), "content": f"{content}\n", "newLine": True})
    else:
        needs(around, "file/write")
        if old.get("cut") or not old.get("digest") or redact.HIDDEN in text:
            raise NotOffered("vfs/append")  # what it was shown of the file is not all of it
        ended = "" if not text or text.endswith("\n") else "\n"
        whole = f"{text}{ended}{content}\n"
        step = Step("file/write", {"path": path, "content": whole, "expectedDigest": old["digest"]})
    got = yield [step]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _folder(around: Around, intent: Intent, asked: Asked) -> Steps:
    path = path_of(around, "folder")
    command = needs(around, "vfs/make", "shell/mkdir")
    params = {"path": filing.virtual(path)} if command == "vfs/make" else {"parents": True, "paths": [path]}
    got = yield [Step(command, params)]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _edit(around: Around, intent: Intent, asked: Asked) -> Steps:
    needs(around, "file/edit")
    params: dict[str, Any] = {
        "path": path_of(around),
        "oldString": caught(around, "old"),
        "newString": caught(around, "new"),
    }
    if around.slots.caught.get("all") or around.slots.caught.get("everywhere"):
        params["replaceAll"] = True
    got = yield [Step("file/edit", params)]
    return Telling(msgspec.structs.replace(asked, path=params["path"]), tuple(got))


def _target(around: Around, source: str) -> str:
    target = path_of(around, "target")
    return target if "/" in target or "/" not in source or "." not in target else _beside(source, target, around)


def _beside(source: str, target: str, around: Around) -> str:
    """A file that is renamed stays in its folder, where no other was said."""
    renamed = re.match(r"(?:rename|give|call|change)\b", around.slots.said.text, re.IGNORECASE)
    return f"{source.rpartition('/')[0]}/{target}" if renamed else target


def _move(around: Around, intent: Intent, asked: Asked) -> Steps:
    source = path_of(around)
    target = _target(around, source)
    command = needs(around, "shell/mv", "vfs/move")
    step = (
        Step(command, {"sources": [source], "destination": target})
        if command == "shell/mv"
        else Step(command, {"source": filing.virtual(source), "target": filing.virtual(target)})
    )
    got = yield [step]
    return Telling(msgspec.structs.replace(asked, path=source), tuple(got))


def _copy(around: Around, intent: Intent, asked: Asked) -> Steps:
    source, target = path_of(around), path_of(around, "target")
    command = needs(around, "shell/cp", "vfs/copy")
    step = (
        Step(command, {"sources": [source], "destination": target})
        if command == "shell/cp"
        else Step(command, {"source": filing.virtual(source), "target": filing.virtual(target)})
    )
    got = yield [step]
    return Telling(msgspec.structs.replace(asked, path=source), tuple(got))


def _delete(around: Around, intent: Intent, asked: Asked) -> Steps:
    path = path_of(around)
    if not re.search(r"\.\w{1,10}$", path):
        return (yield from _delete_folder(around, intent, asked))
    needs(around, "file/delete")
    got = yield [Step("file/delete", {"path": path})]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _delete_folder(around: Around, intent: Intent, asked: Asked) -> Steps:
    path = path_of(around, "folder") if around.slots.caught.get("folder") else path_of(around)
    if path.strip("./") == "":
        raise Unknown(smalltalk.not_understood())
    needs(around, "shell/rm")
    got = yield [Step("shell/rm", {"recursive": True, "paths": [path]})]
    return Telling(msgspec.structs.replace(asked, path=path), tuple(got))


def _delete_files(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Find the files first, then remove just those with one call that people can see."""
    which = filing.wanted(around)
    if not (which.globs or which.size or which.until is not None or which.since is not None) or not filing.explained(
        around
    ):
        raise Unknown(smalltalk.did_nothing(knowledge.smalltalk().not_plain, intent.ask))
    end = yield from filing.found(around, msgspec.structs.replace(which, below=True))
    if isinstance(end, str):
        return end
    paths = filing.got_paths(end.results[0])
    if not paths:
        return knowledge.smalltalk().nothing_to_delete
    value = end.results[0].value if isinstance(end.results[0].value, dict) else {}
    if len(paths) > _MOST or value.get("cut") or value.get("found"):
        return knowledge.smalltalk().too_many.format(count=value.get("matched") or len(paths), most=_MOST)
    step = filing.removed(around, paths)
    if step is None:
        raise NotOffered("file/delete")
    got = yield [step]
    return Telling(msgspec.structs.replace(asked, thing="files", noun=("file", "files")), tuple(got))


def _say(around: Around, intent: Intent, asked: Asked) -> Steps:
    needs(around, "room/say")
    got = yield [Step("room/say", {"text": caught(around, "content"), "name": caught(around, "room")})]
    return Telling(asked, tuple(got))


def _undo(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Take back what was changed last in this conversation, or what is named; of anything else only tell."""
    command = needs(around, *_UNDOABLE)
    words, changes = knowledge.smalltalk(), around.slots.seen.changes
    named = around.slots.caught.get("execution", "")
    if named or changes:
        execution = named or changes[0].execution
        says = next((one.says for one in changes if one.execution == execution), "")
        last = yield [Step(command, {"execution": execution})]
        return words.took_back.format(what=says) if says else Telling(asked, tuple(last))
    if "data/list" not in around.tools:
        raise Unknown(words.nothing_to_undo)
    who = around.slots.seen.speaker
    changing = sorted(name for name, tool in around.tools.items() if not tool.reads_only and _kept(name))
    where: dict[str, Any] = {"phase": "start", "command": {"$in": changing}}
    if who:
        where["$or"] = [{"caller": who}, {"onBehalfOf": who}]
    newest = {"collection": "audit", "filter": where, "orderBy": "-at", "limit": _SHOWN}
    (got,) = yield [Step("data/list", newest, lookup=True)]
    shown = "\n".join(_change(one) for one in items(got) if isinstance(one, dict) and one.get("call"))
    raise Unknown(words.undo_which.format(changes=shown) if shown else words.nothing_to_undo)


def _change(one: Mapping[str, Any]) -> str:
    """A change in the ledger, by the id that takes it back."""
    params = one.get("params")
    given = params.get("path") or params.get("paths") or params.get("id") if isinstance(params, dict) else None
    what = f" of {quoting.one_line(given if isinstance(given, str) else str(given), 100)}" if given else ""
    return f"- {one['call']}: {one.get('command')}{what}, by {one.get('caller')}"


def _kept(name: str) -> bool:
    """Whether a command is one whose changes are kept, so that they can be taken back."""
    area = name.partition("/")[0]
    return area in ("file", "data", "collection", "shell") and name not in ("file/undo", "shell/script", "shell/cd")


def _run(around: Around, intent: Intent, asked: Asked) -> Steps:
    """A program by its name: as a command of the catalogue where there is one, else as a line for bash."""
    program = around.slots.caught.get("program", "")
    if program:
        name = f"shell/{program}"
        if name not in around.tools:
            raise Unknown(smalltalk.not_offered(name))
        got = yield [Step(name, {"arguments": [path_of(around)]})]
        return Telling(asked, tuple(got))
    line = caught(around, "command")
    if "`" not in around.slots.caught["command"]:
        line = _FULL_STOP.sub("", line)
    step = run_line(around, line)
    if step is None:
        raise NotOffered("bash")
    got = yield [step]
    return Telling(asked, tuple(got))


def run_line(around: Around, line: str) -> Step | None:
    """A line as a call: of the program itself where no shell is needed to read it."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if words and not _SHELL_SIGNS.search(line):
        first, rest = words[0], words[1:]
        if first == "git" and rest:
            name = f"shell/git_{rest[0].replace('-', '_')}"
            if name in around.tools:
                return Step(name, {"arguments": rest[1:]} if rest[1:] else {})
        name = f"shell/{first}"
        if name in around.tools:
            return Step(name, {"arguments": rest} if rest else {})
    return Step("bash", {"command": line}) if "bash" in around.tools else None


PLANNERS: Mapping[str, Planner] = {
    "write": _write,
    "empty file": _empty,
    "append": _append,
    "folder": _folder,
    "edit": _edit,
    "move": _move,
    "copy": _copy,
    "delete": _delete,
    "delete folder": _delete_folder,
    "delete files": _delete_files,
    "say": _say,
    "undo": _undo,
    "run": _run,
    "change record": recording.changed,
    "delete record": recording.deleted,
    "add record": recording.added,
}
