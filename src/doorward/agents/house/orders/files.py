"""Orders about files and folders: write, append, replace, make, move, copy and delete."""

from __future__ import annotations

import re
from typing import Any

from doorward.agents.house import sentences
from doorward.agents.house.file_names import find_names
from doorward.agents.house.orders.calls import describe_done, make_call, make_reading, need, refuse
from doorward.agents.house.orders.file_deletion import delete_matching, delete_referred
from doorward.agents.house.orders.phrases import (
    END,
    FILE,
    PATH,
    QUOTED,
    WIDE,
    OrderText,
    is_path,
    is_quoted,
    place,
    read_paths,
    unquote,
    virtual,
)
from doorward.agents.house.plan import NotOffered, Reading, Reply, Step, Steps
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import load_patterns
from doorward.core import redact

_P = load_patterns("orders.json", "files", quoted=QUOTED, path=PATH, file=FILE)
"""`not_content` are words that begin no content, because they speak of it, as in `write a poem into a.txt`."""
_NEW_FOLDER, _COPIES = (re.compile(_P[one], re.IGNORECASE) for one in ("new_folder", "copies"))
_DELETE = _P["delete"]


def read(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    every = (_write, _empty, _append, _make_folder, read_edit, _move, _copy, delete_referred, _delete, delete_matching)
    readers = (_write, _append) if text.is_long else every
    found = next((found for reader in readers if (found := reader(context, text)) is not None), None)
    named = _with_path(context, text) if found is None and not text.is_long else None
    if named is None:
        return found
    return _append(context, named) or _move(context, named) or _copy(context, named)


def _with_path(context: RequestContext, text: OrderText) -> OrderText | None:
    """Return an order with the path of the one file that its words name, such as `the budget note`."""
    about = context.with_text(text.bare)
    claims = WordClaims(Request(text.bare))
    names = find_names(about, claims)
    if len(names.files) != 1 or not names.by_words:
        return None
    tokens = [claims.request.tokens[one] for one in sorted(claims.places)]
    return OrderText(f"{text.bare[: tokens[0].start]}{names.files[0]}{text.bare[tokens[-1].end :]}")


def _content(context: RequestContext, found: re.Match[str] | None) -> str:
    """Return the content of an order; empty if it names no file, or if the content looks like one."""
    if found is None or not is_path(found["path"], context):
        return ""
    content = unquote(found["content"])
    is_file = is_path(content, context) and " " not in content and not is_quoted(found["content"])
    return "" if is_file else content


def _write(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    found = text.match_to_end(*_P["write_to_end"]) or text.match(*_P["write"])
    content = _content(context, found)
    if found is None or not content:
        return None
    path = place(found["path"], context)
    puts = (found.groupdict().get("verb") or "").lower() == "put" and not re.search(r"\bnew\b", found[0])
    if puts and path in context.conversation.files:
        how = f'Say "append … to {path}" to add a line, or "write … into {path}" to replace what it holds.'
        return refuse(f"{sentences.name(path)} exists already. {how}")
    calls = {"file/write": {"path": path, "content": content}, "vfs/write": {"path": virtual(path), "content": content}}
    return make_call(context, "write a file", f"write {path}", calls, _changed(path))


def _changed(path: str) -> str:
    return f"I changed {sentences.name(path)}. It can be taken back with undo."


def _empty(context: RequestContext, text: OrderText) -> Reading | None:
    beside = "me an a the new empty blank text file document called named at as that is with nothing in it and leave"
    verb = (
        r"(?:create|make|add|touch|start|set\s+up|new"
        r"|(?:put|place|write|save|i\s+need|i\s+want|give\s+me)(?=.*\b(?:empty|blank)\b))\b"
    )
    paths = read_paths(context, text, verb, beside)
    if len(paths) != 1 or paths[0][1].endswith("/"):
        return None
    path = place(paths[0][1], context)
    calls: dict[str, dict[str, Any]] = {
        "file/write": {"path": path, "content": "", "expectedDigest": ""},
        "shell/touch": {"files": [path]},
    }
    return make_call(context, "create a file", f"create the empty file {path}", calls, _changed(path))


def _append(context: RequestContext, text: OrderText) -> Reading | None:
    """Put a line behind the last one.

    The file is read first: its last line may have no end. What the model is shown has no secrets in it, so it is not
    written back where there is another way.
    """
    found = text.match(*_P["append"]) or text.match_to_end(rf"(?:add|append)\s+to\s+{FILE}{PATH}:\s+(?P<content>.+)$")
    content = _content(context, found)
    if found is None or not content:
        return None
    path = place(found["path"], context)

    def steps() -> Steps:
        need(context, "file/read")
        (was,) = yield [Step("file/read", {"path": path}, lookup=True)]
        old = was.value if isinstance(was.value, dict) else {}
        if "vfs/append" in context.tools:
            step = Step("vfs/append", {"path": virtual(path), "content": f"{content}\n", "newLine": True})
        else:
            need(context, "file/write")
            held = str(old.get("content", ""))
            if old.get("cut") or not old.get("digest") or redact.HIDDEN in held:
                raise NotOffered("vfs/append")
            whole = f"{held}{'' if not held or held.endswith(chr(10)) else chr(10)}{content}\n"
            step = Step("file/write", {"path": path, "content": whole, "expectedDigest": old["digest"]})
        (got,) = yield [step]
        return describe_done(got, _changed(path))

    return make_reading(context, "append to a file", steps, f"append to {path}")


def _make_folder(context: RequestContext, text: OrderText) -> Reading | None:
    found = text.match(*_P["make_folder"])
    if found is None:
        return None
    path = place(found["path"], context)
    calls: dict[str, dict[str, Any]] = {
        "vfs/make": {"path": virtual(path)},
        "shell/mkdir": {"parents": True, "paths": [path]},
    }
    return make_call(
        context, "make a folder", f"make the folder {path}", calls, f"I made the folder {sentences.name(path)}."
    )


def read_edit(context: RequestContext, text: OrderText) -> Reading | None:
    found = text.match(*_P["edit"])
    if found is None or not is_path(found["path"], context):
        return None
    groups, path = found.groupdict(), place(found["path"], context)
    params: dict[str, Any] = {"path": path, "oldString": unquote(found["old"]), "newString": unquote(found["new"])}
    if groups.get("all") or groups.get("everywhere"):
        params["replaceAll"] = True
    return make_call(
        context, "replace text in a file", f"replace text in {path}", {"file/edit": params}, _changed(path)
    )


def _move(context: RequestContext, text: OrderText) -> Reading | None:
    beside = (
        "a the my file folder directory document to as into over its name new of from now on so that it is called"
        " should be named renamed moved"
    )
    wish = re.fullmatch(
        rf"(?P<fact>.+?)[,.;:]\s+(?:please\s+)?(?P<verb>rename|move)\s+it{END}", text.bare, re.IGNORECASE
    )
    text = OrderText(f"{wish['verb']} {wish['fact']}") if wish is not None else text
    paths = read_paths(context, text, _P["move_verb"], beside)
    if len(paths) != 2 or paths[0][0] in ("to", "as", "into"):
        return None
    source, target = (place(one, context) for _, one in paths)
    if not re.match(r"move|mv|relocate", text.bare, re.IGNORECASE) and "/" in source and "/" not in target:
        target = f"{source.rpartition('/')[0]}/{target}"  # A file that is renamed stays in its folder.
    return _transfer(context, source, target, ("shell/mv", "vfs/move"), "moved")


def _copy(context: RequestContext, text: OrderText) -> Reading | None:
    beside = (
        "the my me a an another file folder directory document to as into in at under over called named new of up"
        " copy duplicate backup contents content second"
    )
    paths = read_paths(context, text, _P["copy_verb"], beside)
    if len(paths) != 2 or not _COPIES.search(text.bare):
        return None
    if paths[1][0] == "of":
        paths.reverse()  # As in `make b.txt a copy of a.txt`.
    source, target = (place(one, context) for _, one in paths)
    return _transfer(context, source, target, ("shell/cp", "vfs/copy"), "copied")


def _transfer(context: RequestContext, source: str, target: str, commands: tuple[str, str], did: str) -> Reading:
    program: dict[str, Any] = {"sources": [source], "destination": target}
    calls = {commands[0]: program, commands[1]: {"source": virtual(source), "target": virtual(target)}}
    done = f"I {did} {sentences.name(source)} to {sentences.name(target)}."
    if target.endswith("/") and target not in context.conversation.files and _NEW_FOLDER.search(context.text):
        return _transfer_to_new(context, calls, target, did, done)
    return make_call(context, f"{did} a file", f"{source} {did} to {target}", calls, done)


def _transfer_to_new(
    context: RequestContext, calls: dict[str, dict[str, Any]], folder: str, did: str, done: str
) -> Reading:
    """Make the folder first, where it is not known."""

    def steps() -> Steps:
        command = need(context, *calls)
        yield [Step(need(context, "shell/mkdir"), {"parents": True, "paths": [folder]})]
        (got,) = yield [Step(command, calls[command])]
        return describe_done(got, done)

    return make_reading(context, f"{did} a file", steps, done)


def _delete(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    folder = text.match(*_P["delete_folder"])
    if folder is not None and place(folder["path"], context).strip("./~"):
        path = place(folder["path"], context)
        if WIDE.fullmatch(path):
            return None
        call: dict[str, dict[str, Any]] = {"shell/rm": {"recursive": True, "paths": [path]}}
        done = f"I deleted the folder {sentences.name(path)}."
        return make_call(context, "delete a folder", f"delete the folder {path}", call, done)
    several = text.match(rf"{_DELETE}\s+(?P<all>.+?(?:,|\s+and)\s+.+?){END}")
    if several is not None:
        names = [one for one in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", several["all"]) if one]
        if all(is_path(one.removeprefix("the ").removeprefix("files "), context) for one in names):
            return refuse("I delete one file at a time, or the files that fit a condition.")
    reason = text.match(
        rf"(?P<fact>[^,;:]*?\S)(?:[.](?=\s)|[,;:])\s+(?:so\s+|and\s+)?(?:please\s+)?(?P<verb>{_DELETE})\s+"
        rf"(?:it|that(?:\s+file)?|the\s+file){END}"
    )
    named = [one.text for one in Request(reason["fact"]).tokens if one.kind == "path"] if reason is not None else []
    if reason is not None and any(one.meaning.kind == "collection" for one in context.lexicon.matches(context.request)):
        return None  # the statement is about a record, which may be called like a file
    if reason is not None and len(named) == 1:
        text = OrderText(f"{reason['verb']} {named[0]}")
    beside = (
        "the a my our that this old file document called named from in workspace for good away completely permanently"
    )
    paths = read_paths(context, text, rf"{_DELETE}\b", beside)
    if len(paths) != 1 or f"{paths[0][1].rstrip('/')}/" in context.conversation.files:
        return None
    path = place(paths[0][1], context)
    if not re.search(r"\.\w{1,10}$", path) and path not in context.conversation.files:
        return None
    done = f"I deleted {sentences.name(path)}."
    return make_call(context, "delete a file", f"delete {path}", {"file/delete": {"path": path}}, done)
