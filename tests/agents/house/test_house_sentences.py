"""What the house model makes of sentences: which command each leads to, and which lead to none whatever they say."""

from __future__ import annotations

import asyncio
import json

import pytest

from doorward.agents.house.model import HouseModel
from doorward.agents.house.smalltalk import greeting
from doorward.agents.models.model import ChatTurn, NativeCall, Prompt, TextPiece, ToolSpec

OFFERED = (
    *("ai_report", "bash", "data_count", "data_list", "data_describe", "debug_logs", "file_delete", "file_list"),
    *("file_read", "file_search", "file_write", "room_list", "room_search", "room_show", "room_who"),
    *("shell_git_log", "shell_git_status"),
)
TOOLS = tuple(
    ToolSpec(name, "Do it.", {}, asks=name in ("bash", "file_delete", "file_write"), reads_only="write" not in name)
    for name in OFFERED
)
_LEADS_TO = """
file_write   write hello.txt saying hi
file_write   please write hello.txt saying hi
file_write   can you write hello.txt saying hi?
file_write   could you please write hello.txt saying hi?
file_write   would you please write hello.txt saying hi
file_write   guide, write hello.txt saying hi
file_write   Guide: write hello.txt saying hi
file_write   @guide write hello.txt saying hi
file_write   hello @guide, please write hello.txt saying hi, thanks
file_write   I want you to write hello.txt saying hi
file_write   I'd like you to write hello.txt saying hi
file_write   write "never again" to hello.txt
file_write   write hello.txt saying "do not run this"
file_write   write never.txt saying hi
file_write   create a file called a/b.md with the text x y
file_write   make a new text file named a.txt containing x
file_write   save 'x' into a.txt
file_delete  delete notes.txt
file_delete  @guide delete the file notes.txt, please
file_delete  can you remove `old/notes.txt`?
file_delete  remove the file old.txt!
bash         run the command ls -la
bash         run ls -la
bash         execute the command: echo hi
bash         please run `uname -a`
bash         can you run the command ls?
bash         @guide run `git push --no-verify`
bash         guide, run git fetch
file_read    read notes.txt
file_read    @guide show me notes.txt
file_read    what does notes.txt say?
file_read    can you open docs/plan.md?
file_read    tell me what is in notes.txt
file_read    I'd like to see notes.txt
file_read    what's in notes.txt
file_search  which files mention budget?
file_search  what files contain the word never?
file_search  search the files for pump
file_search  find "not" in the files
file_list    what files are in the workspace?
file_list    what is in the sub folder?
file_list    what is in the folder src/app?
file_list    list the files
file_list    ls
file_list    is there anything in the src/app directory?
ai_report    is everything running okay?
ai_report    is everything not okay?
ai_report    any errors?
ai_report    could you check whether everything works?
data_list    which commands failed today?
data_list    show me the last errors
data_list    what went wrong?
data_list    why did the last command fail?
data_list    what happened lately?
data_list    which commands ran lately?
data_list    who approved the last command?
data_list    what did I say earlier?
data_list    what did we decide about the pump?
data_list    what did we decide about not using Redis?
data_list    when did we decide to delete notes.txt?
data_list    how many rooms do we have?
data_list    do you know how many rooms there are?
data_list    how many people are there?
data_list    which recipes are there?
data_count   how many messages are there?
room_who     how many people are in this room?
room_who     who is here?
room_who     list everyone here
room_show    what is this room about?
data_list    what is waiting for approval?
shell_git_status  git status
shell_git_status  run git status
shell_git_log     show the last commits
shell_git_log     guide, run git log
"""
_LEADS_TO_NOTHING = """
never run the command echo B > ran.txt
do not write ran.txt saying hi
don't write ran.txt saying hi
don’t write ran.txt saying hi
don`t write ran.txt saying hi
dont write ran.txt saying hi
do n't write ran.txt saying hi
DO NOT WRITE ran.txt SAYING hi
please do not write ran.txt saying hi
guide, don't write ran.txt saying hi
@guide never write ran.txt saying hi
never, write ran.txt saying hi
no, write ran.txt saying hi
n\u200bever write ran.txt saying hi
ｎｅｖｅｒ write ran.txt saying hi
you must not write ran.txt saying hi
you should never delete notes.txt
nobody should delete notes.txt
stop writing ran.txt
can't you write ran.txt saying hi
why don't you write ran.txt saying hi?
what if you write ran.txt saying hi
what happens when I write ran.txt saying hi?
what would happen if I delete notes.txt?
if I say write a.txt saying hi, what happens?
if nobody minds, write a.txt saying hi
when I say go, write a.txt saying hi
suppose you write a.txt saying hi
imagine I said: run the command ls
should I write ran.txt saying hi?
shall we delete notes.txt?
could I write ran.txt saying hi?
can I write ran.txt saying hi?
can anybody write ran.txt saying hi?
would you write ran.txt saying hi?
I could write ran.txt saying hi
I will write ran.txt saying hi
we might delete notes.txt
we should run the command ls
let's write ran.txt saying hi
why did you write ran.txt saying hi
did you write ran.txt saying hi?
how do I write ran.txt saying hi?
how do I delete notes.txt?
who can run the command ls?
write ran.txt saying hi?
delete notes.txt?
delete notes.txt? no!
delete notes.txt if nobody minds
delete notes.txt once I agree
delete notes.txt, just kidding
delete notes.txt tomorrow
write ran.txt saying hi, but only if I agree
write ran.txt saying hi. No, don't.
write ran.txt saying hi unless anna minds
write ran.txt saying "hi" but not now
write ran.txt saying hi - just kidding
write "hi" to ran.txt if I agree
write "hi" to ran.txt, or rather not
run the command ls only when I say so
run the command rm -r x? never!
run the command `ls` if you may
run `ls`, but not now
he told me to write ran.txt saying hi
anna said: write ran.txt saying hi
she says delete notes.txt
"write ran.txt saying hi"
> write ran.txt saying hi
`run the command ls`
the manual says run the command ls
anna, write ran.txt saying hi
@anna write ran.txt saying hi
guidebook, write ran.txt saying hi
tell anna to write ran.txt saying hi
I asked you to delete notes.txt
for example, write ran.txt saying hi
write ran.txt saying hi; on second thought, leave it
write ran.txt saying hi is what I typed
put ran.txt with the others
run the command that anna sent
run the command again
run find my phone
say EXECUTE: shell/ls
EXECUTE: file/delete --path=notes.txt
<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>
please never read notes.txt
don't show me notes.txt
I told you not to read notes.txt
you may not open notes.txt
under no circumstances read notes.txt
nobody may read notes.txt
what is in notes.txt must stay secret
read notes.txt, or rather don't
without reading notes.txt, what is in it?
I read notes.txt yesterday
do not search the files for pump
stop listing the files in the workspace
you must not list the files
never list the rooms
don't run git status
which files do not mention budget?
there are many rooms here
everything was fine when we had fewer rooms
how do I add another AI?
how do I connect Claude Code?
what is Doorward?
can you write files?
run the tests
no
never mind
yes
tell me a joke
"""
LEADS_TO = [tuple(line.split(None, 1)) for line in _LEADS_TO.strip().splitlines()]
LEADS_TO_NOTHING = _LEADS_TO_NOTHING.strip().splitlines()
_MODEL = HouseModel(lambda: 1_800_000_000.0)


def led(*sentences: str) -> list[tuple[str, str]]:
    """Of each sentence the first command that it leads to, or nothing, and what is said."""

    async def one(sentence: str) -> tuple[str, str]:
        prompt = Prompt(
            instructions="You are Guide, known as @guide, an AI in the room 'lab'.",
            turns=(ChatTurn(role="user", text=sentence, speaker="owner"),),
            tools=TOOLS,
        )
        pieces = [piece async for piece in _MODEL.answer(prompt)]
        calls = [piece.name for piece in pieces if isinstance(piece, NativeCall)]
        for piece in pieces:
            assert not isinstance(piece, NativeCall) or isinstance(json.loads(piece.arguments), dict)
        return calls[0] if calls else "", "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))

    async def all_of_them() -> list[tuple[str, str]]:
        return [await one(sentence) for sentence in sentences]

    return asyncio.run(all_of_them())


def test_a_sentence_leads_to_its_command() -> None:
    found = led(*(sentence for _, sentence in LEADS_TO))
    assert [(command, sentence) for (command, _), (_, sentence) in zip(found, LEADS_TO, strict=True)] == LEADS_TO


def test_what_forbids_supposes_asks_or_reports_leads_to_no_command() -> None:
    found = zip(LEADS_TO_NOTHING, led(*LEADS_TO_NOTHING), strict=True)
    assert {sentence: command for sentence, (command, _) in found if command} == {}


@pytest.mark.parametrize("wish", ["write ran.txt saying hi", "delete notes.txt", "run the command ls", "run `ls`"])
def test_every_way_of_not_asking_keeps_every_change_from_being_made(wish: str) -> None:
    assert led(wish)[0][0]
    before = "don't|never|do not|please don't|if you like|should I|I would|he said|why did you|what if you|maybe|not"
    after = " if I agree| unless I mind|, or don't|? No.| when I say so|, no wait|?"
    others = [*(f"{one} {wish}" for one in before.split("|")), *(f"{wish}{one}" for one in after.split("|"))]
    for other, (command, said) in zip(others, led(*others), strict=True):
        assert command == "", other
        assert "I did nothing" in said or "I do not know how" in said, other


def test_short_answers_are_given_to_questions_about_the_house() -> None:
    for question, word in (
        ("how do I add another AI?", "page Personas"),
        ("how do I connect Claude Code?", "doorward connect claude-code"),
        ("what is Doorward?", "one door between AIs"),
        ("what is a recipe?", "rules of a room"),
        ("how do I approve something?", '"approve"'),
        ("no", "I do nothing"),
    ):
        assert word in led(question)[0][1], question


def test_the_greeting_shows_the_suggested_questions_and_each_leads_to_a_call() -> None:
    for question in ("How many rooms do we have?", "Is everything running okay?", "What files are in the workspace?"):
        assert question in greeting()
        assert led(question)[0][0]
