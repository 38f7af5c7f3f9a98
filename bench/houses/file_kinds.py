"""Questions about the workspace: its log, its export, its notes and its repository; and about rooms."""

from __future__ import annotations

from datetime import timedelta

from bench.houses.expectations import Best, NamesList, Number, Text, alternatives
from bench.houses.question import Question
from bench.houses.vocabulary import Words
from bench.houses.wording import Speaker


def _name(speaker: Speaker, path: str) -> str:
    """A file by its path, or by its name alone."""
    return path if speaker.chance.random() < 0.5 else path.rpartition("/")[2]


def log_level(speaker: Speaker) -> Question | None:
    made, today = speaker.workspace, speaker.world.today
    level, words = speaker.pick((("ERROR", "errors"), ("WARNING", "warnings")))
    when, day = speaker.pick((("today", today), ("yesterday", today - timedelta(days=1)), ("in total", None)))
    count = sum(one.level == level and day in (one.day, None) for one in made.lines)
    templates = (
        "how many {words} in {log} {when}?",
        "{words} {when} in {log} - how many",
        "number of {words} that {log} has {when}",
        "count {words} of {when} in {log}",
    )
    says = speaker.say(
        templates[:3] if day is None else templates, words=words, log=_name(speaker, made.log), when=when
    )
    return Question(kind="log_level", says=says, expect=Number((float(count),), (float(len(made.lines)),)))


def log_last(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    level, word = speaker.pick((("ERROR", "error"), ("WARNING", "warning")))
    last = [one for one in made.lines if one.level == level][-1]
    templates = (
        "what was the last {word} in {log}?",
        "last {word} in {log}",
        "show me the most recent {word} from {log} pls",
        "what's the newest {word} {log} reports",
    )
    says = speaker.say(templates, word=word, log=_name(speaker, made.log))
    wrong = alternatives([one.text for one in made.lines if one.level == level and one.text not in last.text])
    return Question(
        kind="log_last", says=says, expect=Text((last.text,), tuple(one for one in wrong if one not in last.text))
    )


def log_topic(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    topic = speaker.pick(speaker.work.topics)
    count = sum(topic in one.text for one in made.lines)
    templates = (
        "how many lines in {log} mention {topic}?",
        "how often does {topic} show up in {log}",
        "count the lines of {log} with {topic} in them",
    )
    says = speaker.say(templates, log=_name(speaker, made.log), topic=topic)
    return Question(kind="log_topic", says=says, expect=Number((float(count),), (float(len(made.lines)),)))


def csv_total(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    amount = made.csv_names[3]
    rows = [row[3] for row in made.rows]
    templates: Words
    if speaker.chance.random() < 0.5:
        templates = (
            "total of the {amount} column in {csv}?",
            "add up {amount} in {csv}",
            "what does the {amount} in {csv} sum up to",
            "sum of {amount} over all of {csv} please",
        )
        value = round(sum(rows), 2)
    else:
        templates = ("highest {amount} in {csv}?", "what's the biggest {amount} in {csv}", "max {amount} of {csv}")
        value = max(rows)
    says = speaker.say(templates, amount=amount, csv=_name(speaker, made.csv))
    return Question(kind="csv_total", says=says, expect=Number((value,), (float(len(rows)),)))


def csv_filter(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    column = speaker.pick((1, 2))
    value = speaker.pick(made.rows)[column]
    rows = [row[3] for row in made.rows if row[column] == value]
    templates: Words
    if speaker.chance.random() < 0.5:
        templates = (
            "how many rows for {value} in {csv}?",
            "in {csv}, how many lines have {value}",
            "how often is {value} in {csv}",
        )
        number, beside = float(len(rows)), (float(len(made.rows)),)
    else:
        templates = (
            "how much did we spend on {value} according to {csv}?",
            "total {amount} for {value} in {csv}",
            "{csv}: sum of {amount} where it says {value}",
        )
        number, beside = round(sum(rows), 2), (float(len(rows)),)
    says = speaker.say(templates, value=str(value), csv=_name(speaker, made.csv), amount=made.csv_names[3])
    return Question(kind="csv_filter", says=says, expect=Number((number,), beside))


def files_mention(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    word, paths = speaker.pick(sorted(made.keywords.items()))
    templates = (
        "which files mention the {word}?",
        "where do we talk about the {word}? which files",
        "find the files with {word} in them",
        "in what notes does the word {word} come up",
    )
    says = speaker.say(templates, word=word)
    return Question(kind="files_mention", says=says, expect=NamesList((_bare(paths),), frozenset(_bare(made.files))))


def _bare(paths: list[str] | dict[str, bytes]) -> tuple[str, ...]:
    return tuple(path.rpartition("/")[2] for path in paths)


def largest_file(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    largest = max(made.files, key=lambda path: len(made.files[path]))
    templates = (
        "what's the largest file?",
        "which file takes up the most space",
        "biggest file here?",
        "name of the biggest file in the workspace",
    )
    expect = Best(_bare([largest]), frozenset(_bare(made.files)))
    return Question(kind="largest_file", says=speaker.say(templates), expect=expect)


def file_content(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    path = speaker.pick([one for one in made.files if one.startswith("notes/")])
    lines = [one for one in made.files[path].decode().splitlines() if one and not one.startswith("#")]
    templates = ("what's in {path}?", "show me {path}", "read {path} to me", "what does {path} say", "open {path} pls")
    says = speaker.say(templates, path=path)
    return Question(kind="file_content", says=says, expect=Text(tuple(dict.fromkeys(lines))))


def file_lines(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    path = speaker.pick([one for one in made.files if one.startswith("notes/") or one in (made.csv, made.log)])
    templates = (
        "how many lines has {path}?",
        "how many lines are in {path}",
        "line count of {path}",
        "{path}: number of lines?",
    )
    says = speaker.say(templates, path=path)
    return Question(kind="file_lines", says=says, expect=Number((float(made.files[path].count(b"\n")),)))


def count_files(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    count = sum(path.startswith("notes/") for path in made.files)
    templates = (
        "how many files are in notes?",
        "number of files in the notes folder",
        "how many notes do i have in notes/",
    )
    return Question(kind="count_files", says=speaker.say(templates), expect=Number((float(count),)))


def git_last(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    last = made.commits[-1]
    templates: Words
    if speaker.chance.random() < 0.5:
        templates = (
            "who committed last?",
            "who made the latest commit",
            "author of the last commit?",
            "whose commit is the newest one in git",
        )
        expect = Best((last.author,), frozenset(one.author for one in made.commits))
        return Question(kind="git_last", says=speaker.say(templates), expect=expect)
    templates = ("what was the last commit message?", "what's the latest commit about", "message of the newest commit")
    wrong = tuple(one.message for one in made.commits[:-1])
    return Question(kind="git_last", says=speaker.say(templates), expect=Text((last.message,), wrong))


def git_count(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    author = speaker.pick(sorted({one.author for one in made.commits}))
    count = sum(one.author == author for one in made.commits)
    templates = (
        "how many commits by {name}?",
        "how many commits did {name} make",
        "number of {name}'s commits",
        "how often has {name} committed",
    )
    says = speaker.say(templates, name=author if speaker.chance.random() < 0.6 else author.split()[0])
    return Question(kind="git_count", says=says, expect=Number((float(count),), (float(len(made.commits)),)))


def git_changed(speaker: Speaker) -> Question | None:
    made = speaker.workspace
    last = made.commits[-1]
    templates = (
        "which files did the last commit change?",
        "what files were touched by the latest commit",
        "what changed in the last commit? just the files",
    )
    expect = NamesList((_bare(list(last.files)),), frozenset(_bare(made.files)))
    return Question(kind="git_changed", says=speaker.say(templates), expect=expect)


def room_last(speaker: Speaker) -> Question | None:
    room = speaker.pick(speaker.rooms)
    templates = (
        "what was the last message in {room}?",
        "what did somebody say last in the room {room}",
        "newest message in {room} pls",
        "show the latest thing written in {room}",
    )
    wrong = tuple(one for other in speaker.rooms for one in other.messages if one != room.messages[-1])
    return Question(
        kind="room_last", says=speaker.say(templates, room=room.name), expect=Text((room.messages[-1],), wrong)
    )


FILE_KINDS = (
    *(log_level, log_last, log_topic, csv_total, csv_filter, files_mention, largest_file, file_content, file_lines),
    *(count_files, git_last, git_count, git_changed, room_last),
)
