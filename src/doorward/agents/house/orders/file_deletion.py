"""Deleting the files that fit a condition: they are found first, and then exactly those are named in one call."""

from __future__ import annotations

import re

from doorward.agents.house import sentences
from doorward.agents.house.file_query import find_files
from doorward.agents.house.file_references import referred_files
from doorward.agents.house.file_requests import parse
from doorward.agents.house.orders.calls import describe_done, make_reading, need, refuse
from doorward.agents.house.orders.phrases import OrderText, place
from doorward.agents.house.plan import Declined, Reading, Reply, Step, Steps
from doorward.agents.house.request_context import RequestContext

_MOST = 200
"""Files that one request deletes at most."""
_VERB = re.compile(
    r"(?P<before>in (?:the )?[\w./-]+(?: folder)?,? )?(?:delete|remove|erase|trash|purge|clear(?: out| up)?"
    r"|clean(?: out| up)?|get rid of|throw away|throw out|dump|discard)\s+",
    re.IGNORECASE,
)
_VERBS = frozenset(("delete", "remove", "erase", "trash", "discard"))
_FILES = re.compile(r"\b(?:files?|documents?)\b", re.IGNORECASE)
_STUFF = re.compile(r"\b(?:everything|anything|whatever|stuff|things)\b", re.IGNORECASE)
_TOO_WIDE = (
    "I delete no files without a condition that says which ones, such as: delete files older than 30 days in tmp"
)


def delete_matching(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    """Read an order to delete the files that fit conditions; each word must belong to one of them."""
    verb = _VERB.match(text.bare)
    said = f"{text.bare[verb.end() :]} {verb['before'] or ''}" if verb is not None else ""
    if not _FILES.search(said):
        said, stuff = _STUFF.subn("files", said, count=1)
        if not stuff:
            return None
    about = context.with_text(said)
    request = parse(about)
    query = request.query if request is not None else None
    if request is None or query is None or not about.request.meaningful <= request.explained:
        return refuse(_TOO_WIDE) if re.search(r"\bfiles\b", text.bare, re.IGNORECASE) else None
    if request.intent != "list" or request.names.files or request.names.choices or query.folders:
        return None
    if query.is_plain or query.sort or query.most or request.names.loose:
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        found = yield from find_files(about, query, lookup=True, most=_MOST + 1)
        paths = [place(one.path, context) for one in found.entries if not one.is_folder]
        if len(paths) > _MOST or found.total is None:
            raise Declined(f"I did nothing: there are too many such files, and I delete at most {_MOST} at once.")
        if not paths:
            return "There is nothing to delete: I found no such files."
        single = len(paths) == 1 and "file/delete" in context.tools
        need(context, "file/delete" if single else "shell/rm")
        step = Step("file/delete", {"path": paths[0]}) if single else Step("shell/rm", {"paths": paths})
        (gone,) = yield [step]
        named = sentences.in_a_row([sentences.name(one) for one in paths[:10]])
        more = f" and {len(paths) - 10:,} more" if len(paths) > 10 else ""
        count = sentences.counted(len(paths), "file", "files")
        done = f"I deleted {count}: {named}{more}. It can be taken back with undo."
        return done if single else describe_done(gone, done)

    return make_reading(context, "delete files", steps, "delete the files that fit")


def delete_referred(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    """Read an order to delete a file that an earlier request found: `delete the first one`, `delete it`."""
    reference = referred_files(context)
    if reference is None or not reference.single or _VERB.match(text.bare) is None:
        return None
    verb = {place for place, one in enumerate(context.request.tokens) if one.lower in _VERBS}
    if not context.request.meaningful <= reference.places | verb:
        return None

    def steps() -> Steps:
        (path,) = yield from reference.find()
        need(context, "file/delete")
        (gone,) = yield [Step("file/delete", {"path": path})]
        return describe_done(gone, f"I deleted {sentences.name(path)}.")

    return make_reading(context, "delete a file", steps, "delete the file that was found")
