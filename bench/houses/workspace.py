"""The workspace of a generated house: notes, a CSV export, a log, and a git repository."""

from __future__ import annotations

import os
import random
import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec

from bench.houses.names import KEYWORDS
from bench.houses.world import World

_SENTENCES = (
    "We talked about the {word} again and found no answer.",
    "Remember to ask about the {word} before the end of the month.",
    "The {word} was repaired at last.",
    "{Word} prices went up by a third.",
    "Somebody left the keys next to the {word}.",
)
_FILLERS = (
    "Nothing else came up.",
    "All went well.",
    "To be continued.",
    "See the list on the wall.",
    "Thanks to all.",
)
_MESSAGES = {
    "ERROR": ("cannot reach the {topic} service", "{topic} job failed with code {n}", "disk quota exceeded by {topic}"),
    "WARNING": ("{topic} answered slowly ({n} ms)", "retrying {topic} in {n} s", "{topic} queue is nearly full"),
    "INFO": ("{topic} started", "{topic} finished in {n} ms", "checked {topic}", "user opened {topic} page {n}"),
}
_CSV_HEADERS = (
    ("date", "supplier", "category", "amount"),
    ("day", "vendor", "kind", "cost"),
    ("on", "payee", "purpose", "total"),
)
_CSV_WORDS = ("rent", "power", "repairs", "paper", "cleaning", "snacks")
_COMMITS = (
    "Add {topic} list",
    "Fix {topic} typo",
    "Update {topic} notes",
    "Rewrite {topic} page",
    "Remove old {topic} draft",
)


class LogLine(msgspec.Struct, frozen=True):
    day: date
    time: str
    level: str
    text: str


class Commit(msgspec.Struct, frozen=True):
    author: str
    message: str
    files: tuple[str, ...]
    days_ago: int


class Workspace(msgspec.Struct, kw_only=True):
    files: dict[str, bytes]
    keywords: dict[str, list[str]]
    """Words and the files that mention them."""
    csv: str
    """The path of the export; its columns are day, supplier, kind and amount, whatever they are called."""
    csv_names: tuple[str, ...]
    rows: list[tuple[str, str, str, float]]
    log: str
    lines: list[LogLine]
    commits: list[Commit]
    """Oldest first."""


def make_workspace(world: World) -> Workspace:
    chance = random.Random(f"workspace {world.work.name} {world.seed}")
    files, keywords = _notes(world, chance)
    csv_names = chance.choice(_CSV_HEADERS)
    suppliers = [world.names.person().split()[1] + chance.choice((" Ltd", " & Sons", " GmbH")) for _ in range(5)]
    rows = [
        (
            (world.today - timedelta(days=chance.randrange(1, 120))).isoformat(),
            chance.choice(suppliers),
            chance.choice(_CSV_WORDS),
            chance.randrange(500, 60_000) / 100,
        )
        for _ in range(chance.randrange(18, 40))
    ]
    csv = f"{chance.choice(('exports', 'data'))}/{chance.choice(('expenses', 'bills', 'purchases'))}.csv"
    text = [",".join(csv_names), *(f"{day},{who},{kind},{amount:.2f}" for day, who, kind, amount in rows)]
    files[csv] = _joined(text)
    log, lines = _log(world, chance)
    spelling = chance.choice(
        ("{day} {time} {level} {text}", "{day}T{time}Z [{level}] {text}", "[{day} {time}] {level}: {text}")
    )
    files[log] = _joined([spelling.format(day=one.day, time=one.time, level=one.level, text=one.text) for one in lines])
    files["README.md"] = _joined([f"# {world.work.name.replace('_', ' ').title()}", "", "What we keep here is for us."])
    big = chance.choice(("archive/photos.bin", "media/tour.mp4", "archive/old.tar"))
    files[big] = bytes(chance.randrange(200_000, 900_000))
    return Workspace(
        files=files,
        keywords=keywords,
        csv=csv,
        csv_names=csv_names,
        rows=rows,
        log=log,
        lines=lines,
        commits=_commits(world, files, chance),
    )


def write_workspace(made: Workspace, folder: Path) -> None:
    """Write the files, and the repository with its commits."""
    for path, content in made.files.items():
        where = folder / path
        where.parent.mkdir(parents=True, exist_ok=True)
        if not path.startswith("notes/"):
            where.write_bytes(content)
    now = datetime.now(UTC)
    (folder / ".gitignore").write_text(
        "".join(f"{path}\n" for path in made.files if path.split("/")[0] not in ("notes", "README.md"))
    )
    _git(folder, "init", "--quiet", "--initial-branch=main")
    written: set[str] = set()
    for number, commit in enumerate(made.commits):
        for path in commit.files:
            last = not any(path in later.files for later in made.commits[number + 1 :])
            whole = made.files[path]
            (folder / path).write_bytes(whole if last else whole + f"draft {number}\n".encode())
            written.add(path)
        at = now - timedelta(days=commit.days_ago, minutes=90 - number)
        _git(folder, "add", "--", *commit.files)
        _git(folder, "commit", "--quiet", "--message", commit.message, who=commit.author, at=at)
    for path in made.files.keys() - written:
        (folder / path).write_bytes(made.files[path])


def _notes(world: World, chance: random.Random) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    topics = chance.sample(
        ("meeting", "ideas", "budget", "summer", "visit", "moving", "party", "review", "training"), 6
    )
    words = chance.sample(KEYWORDS, 5)
    paths = [f"notes/{topic}.{chance.choice(('md', 'md', 'txt'))}" for topic in topics]
    places = {word: sorted(chance.sample(paths, chance.choice((1, 2, 2, 3)))) for word in words}
    files = {}
    for path, topic in zip(paths, topics, strict=True):
        lines = [f"# {topic.capitalize()}", ""]
        for word in (word for word in words if path in places[word]):
            lines.append(chance.choice(_SENTENCES).format(word=word, Word=word.capitalize()))
        lines += chance.sample(_FILLERS, chance.randrange(1, 4)) * chance.choice((1, 2, 3))
        files[path] = _joined(lines)
    return files, places


def _log(world: World, chance: random.Random) -> tuple[str, list[LogLine]]:
    now = datetime.now(UTC)
    lines = []
    for ago in range(4, -1, -1):
        day = world.today - timedelta(days=ago)
        last = 86_000 if ago else max(40, (now.hour * 60 + now.minute) * 60)
        for second in sorted(chance.sample(range(last), min(last, chance.randrange(14, 26)))):
            level = chance.choice(("INFO", "INFO", "INFO", "WARNING", "ERROR"))
            text = chance.choice(_MESSAGES[level]).format(
                topic=chance.choice(world.work.topics), n=chance.randrange(3, 99)
            )
            time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            lines.append(LogLine(day, time, level, text))
    return f"{chance.choice(('logs', 'log', 'var'))}/{chance.choice(('server', 'service', 'app', 'system'))}.log", lines


def _commits(world: World, files: dict[str, bytes], chance: random.Random) -> list[Commit]:
    notes = [path for path in files if path.startswith("notes/")]
    authors = [world.names.person() for _ in range(3)]
    messages = [one.format(topic=topic) for one in _COMMITS for topic in world.work.topics]
    chance.shuffle(messages)
    ages = sorted(chance.sample(range(1, 60), chance.randrange(6, 11)), reverse=True)
    commits = [Commit(chance.choice(authors), messages.pop(), ("README.md",), ages[0] + 1)]
    for path in notes[1:]:
        commits.append(Commit(chance.choice(authors), messages.pop(), (path,), ages[0]))
    for age in ages[1:]:
        touched = tuple(sorted(chance.sample(notes[1:], chance.choice((1, 1, 2)))))
        commits.append(Commit(chance.choice(authors), messages.pop(), touched, age))
    return commits


def _joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _git(folder: Path, *arguments: str, who: str = "Nobody", at: datetime | None = None) -> None:
    signed = {
        "NAME": who,
        "EMAIL": f"{who.split()[0].lower()}@house.example",
        "DATE": (at or datetime.now(UTC)).isoformat(),
    }
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in signed.items()},
    }
    command = ["git", "-C", str(folder), *arguments]
    subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL, capture_output=True)
