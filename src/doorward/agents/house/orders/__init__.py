"""Orders that change something: files, records, messages, programs and undo."""

from __future__ import annotations

import re

from doorward.agents.house import mood
from doorward.agents.house.orders import files, messages, programs, records, undo
from doorward.agents.house.orders.phrases import OrderText
from doorward.agents.house.plan import Reading, Reply
from doorward.agents.house.request_context import RequestContext

_READERS = (undo.read, messages.read, files.read, programs.read, records.read)
_EXAMPLES = (
    (r"\b(?:append|line to)", 'append "one more line" to notes.txt'),
    (r"\b(?:writ|sav|creat\w* .*\.\w)", 'write notes.txt saying "hello" (between quotation marks any words may stand)'),
    (r"\b(?:replac|substitut)", 'replace "old" with "new" in notes.txt'),
    (r"\b(?:renam|mov)", "rename notes.txt to old-notes.txt"),
    (r"\bcop(?:y|ie)", "copy notes.txt to notes-2.txt"),
    (r"\b(?:delet|remov|eras)\w*.*(?:[\w/-]+\.\w|\bfile|\bfolder)", "delete notes.txt"),
    (r"\b(?:delet|remov|eras)", "delete order o-1"),
    (r"\b(?:set|mark|chang|updat|assign)", "set the status of order o-1 to paid"),
    (r"\b(?:add|regist|insert)", 'add a note with title "Buy milk"'),
    (r"\b(?:say|post|send|announc)", 'say "good morning" in the room general'),
    (r"\b(?:undo|revert|take back)", "undo the last change"),
    (r"\b(?:run|execut)", "run the command `ls -la` (between backticks any words may stand)"),
)


def read(context: RequestContext) -> Reading | Reply | None:
    """Return the reading of an order; a reply if it must not be done; None if it is no order that is understood."""
    if not mood.is_order(context.text):
        return None
    text = OrderText(context.text)
    line = programs.read_line(context, text) or files.read_edit(context, text)
    if line is not None or mood.has_second_order(context.text):
        return line
    readers = (messages.read, files.read) if text.is_long else _READERS
    return next((found for reader in readers if (found := reader(context, text)) is not None), None)


def example_for(context: RequestContext) -> str:
    """Return how to order plainly what the request speaks of; empty if nothing fits."""
    text = context.text.lower()
    return next((example for pattern, example in _EXAMPLES if re.search(pattern, text)), "")
