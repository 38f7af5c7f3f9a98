"""The workspace of the seeded house: some forty files with kinds, sizes and ages, and a git repository."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bench.questions.turned_clock import DAY

MB = 1_000_000


class File(NamedTuple):
    path: str
    content: bytes
    age: float
    """Days since it was last changed."""


def _lines(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _python(*names: str, remark: str = "") -> bytes:
    bodies = [part for name in names for part in (f"def {name}(value):", f"    return {name!r}, value", "", "")]
    return _lines('"""A part of the shop."""', "", *([remark] if remark else []), *bodies)


def _served(lines: int) -> bytes:
    """The log of a web server: every seventh line an error."""
    paths, levels = ("/", "/orders", "/login", "/orders/7"), ("INFO", "INFO", "WARNING", "INFO", "INFO", "INFO")
    return _lines(
        *(
            f"ERROR request {number} timed out after 30 s"
            if number % 7 == 0
            else f"{levels[number % 6]} request {number} {paths[number % 4]} took {number % 90} ms"
            for number in range(1, lines + 1)
        )
    )


def _sales() -> bytes:
    regions = ("north", "south", "east", "west")
    rows = (f"2026-{1 + n % 12:02}-0{1 + n % 9},{regions[n % 4]},{100 + n * 13 % 700}" for n in range(48))
    return _lines("date,region,amount", *rows)


FILES = (
    File("README.md", _lines("# The shop", "", "Sells lamps and rugs.", "Ask Anna for access."), 12),
    File("CHANGELOG.md", _lines("# Changes", "", "- 1.4 faster invoices", "- 1.3 new login page"), 5.5),
    File("src/app.py", _python("start", "stop", remark="# deprecated: use serve() of the new server"), 3.4),
    File("src/orders.py", _python("place_order", "cancel_order", "total"), 2.4),
    File("src/customers.py", _python("find_customer", "rename_customer"), 20.5),
    File("src/billing/invoice.py", _python("write_invoice", "total", remark="# deprecated: rounds down"), 40.5),
    File("src/billing/tax.py", _python("tax_of"), 33.5),
    File("tests/test_orders.py", _python("test_place_order", "test_total"), 2.4),
    File("tests/test_invoice.py", _python("test_write_invoice"), 40.5),
    File("scripts/report.py", _python("report"), 9.5),
    File("scripts/backup.sh", _lines("#!/bin/sh", "tar -czf archive/backup.tar.gz data"), 50.5),
    File("docs/guide.md", _lines("# Guide", "", *(f"Step {n}: turn the key." for n in range(1, 31))), 15.5),
    File("docs/install.md", _lines("# Install", "", "Copy the folder and run start."), 45.5),
    File("docs/faq.md", _lines("# Questions", "", "Where is the refund policy?", "In the guide."), 5.5),
    File("notes/ideas.md", _lines("# Ideas", "", "- a lamp that hums", "- free delivery on Fridays"), 0.1),
    File("notes/meeting.md", _lines("# Meeting", "", "Anna and Ben agreed on the budget of 4200 euros."), 2.4),
    File("notes/shopping.txt", _lines("milk", "bread", "coffee", "batteries"), 4.4),
    File("config/settings.json", _lines('{"port": 8080, "theme": "dark", "retries": 3}'), 16.5),
    File("config/server.toml", _lines("host = 'localhost'", "port = 9001", "workers = 4"), 16.5),
    File("data/sales.csv", _sales(), 6.4),
    File("data/temperatures.csv", _lines("day,celsius", *(f"{n},{n * 7 % 31}" for n in range(1, 21))), 26.5),
    File("logs/server.log", _served(140), 0.12),
    File("logs/worker.log", _lines("INFO worker up", "ERROR queue full", "INFO queue empty", "INFO worker down"), 1.7),
    File("logs/access.log", _served(40_000), 3.5),
    File("images/logo.png", b"\x89PNG\r\n\x1a\n" + bytes(4_000), 44.5),
    File("images/banner.png", b"\x89PNG\r\n\x1a\n" + bytes(60_000), 21.5),
    File("images/photo.jpg", b"\xff\xd8\xff\xe0" + bytes(2_400_000), 5.5),
    File("images/icon.gif", b"GIF89a" + bytes(900), 52.5),
    File("media/intro.mp4", bytes(5_300_000), 38.5),
    File("archive/backup.tar.gz", b"\x1f\x8b" + bytes(3_100_000), 55.5),
    File("archive/report-2025.pdf", b"%PDF-1.7\n" + bytes(700_000), 58.5),
    File("drafts/proposal.md", _lines("# Proposal", "", "We should open a second shop in Porto."), 9.5),
    File("drafts/pitch-old.md", _lines("# Old pitch", "", "Nobody liked it."), 48.5),
    File("empty.txt", b"", 33.5),
    File("tmp/cache.bin", bytes(20_000), 45.5),
    File("tmp/upload.part", bytes(1_500), 38.5),
    File("tmp/session.tmp", _lines("abandoned"), 34.5),
    File("tmp/scratch.txt", _lines("two and two"), 2.4),
    File("tmp/fresh.tmp", _lines("warm"), 0.1),
    File("home/owner/letter.txt", _lines("Dear Carla,", "the lamp arrived.", "Yours"), 7.5),
    File("home/owner/chores.md", _lines("# Chores", "", "- paint the door", "- oil the lock"), 1.7),
    File("home/owner/budget.csv", _lines("what,euros", "rent,900", "food,350", "books,60"), 26.5),
    File("home/owner/holiday.jpg", b"\xff\xd8\xff\xe0" + bytes(1_300_000), 58.5),
)
_IGNORED = ("tmp/", "home/", "logs/", "images/", "archive/", "media/")
_UNTRACKED = "notes/ideas.md"
_AFTERWARDS = "README.md"
COMMITS = (
    ("Anna Berg", "First shelves of the shop", 50),
    ("Ben Ode", "Invoices are written", 41),
    ("Anna Berg", "Orders can be cancelled", 2.5),
)
BRANCHES = ("main", "fix-login", "winter-sale")


def fill(folder: Path, now: float, today: float) -> None:
    """Write every file with its age, and the repository around some of them."""
    for file in FILES:
        where = folder / file.path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(file.content)
    _repository(folder, now)
    for file in FILES:
        changed = now - file.age * DAY if file.age >= 1 else today + (now - today) * (1 - file.age)
        os.utime(folder / file.path, (changed, changed))


def _repository(folder: Path, now: float) -> None:
    (folder / ".gitignore").write_text("".join(f"{one}\n" for one in _IGNORED))
    (folder / _UNTRACKED).rename(folder / "tmp" / "aside")
    last = (folder / _AFTERWARDS).read_bytes()
    (folder / _AFTERWARDS).write_bytes(last.partition(b"\n")[0] + b"\n")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    parts = (["README.md", ".gitignore", "docs", "config"], ["src/billing", "tests/test_invoice.py"], ["."])
    for (who, what, age), part in zip(COMMITS, parts, strict=True):
        _git(folder, "add", *part)
        _git(folder, "commit", "--quiet", "--message", what, who=who, at=now - age * DAY)
    for branch in BRANCHES[1:]:
        _git(folder, "branch", branch)
    (folder / "tmp" / "aside").rename(folder / _UNTRACKED)
    (folder / _AFTERWARDS).write_bytes(last)


def _git(folder: Path, *arguments: str, who: str = "Nobody", at: float = 0.0) -> None:
    date = datetime.fromtimestamp(at, UTC).isoformat()
    names = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _signed(who, date)}
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **names,
    }
    subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def _signed(who: str, date: str) -> tuple[tuple[str, str], ...]:
    return ("NAME", who), ("EMAIL", f"{who.split()[0].lower()}@shop.example"), ("DATE", date)
