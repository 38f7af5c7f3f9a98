"""Ordinary uses of the whole shipped catalogue work, in the real sandbox and through the gate (R6.1, R6.2)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from catalogue_house import FILES, Shell

from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.catalogue.watched_catalogue import shipped_catalogue

ENTRIES = {
    entry.name: entry for entry in parse_catalogue(shipped_catalogue(), "commands.json") if entry.profile == "tool"
}
"""Test runners and build tools need a project, and are run in tests/commands/test_toolchains.py."""
ANY = re.compile(r"(?s).+")
NONE = ""


class Use(NamedTuple):
    command: str
    given: list[str] | dict[str, Any]
    expected: str | re.Pattern[str]
    """What it prints: exactly, or what is found in it."""


def some(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


SHA = r"[0-9a-f]{7,40}"
USES = [
    Use("ls", [], some(r"^-dash\na b\.txt\ndata\.json\n")),
    Use("ls", ["src"], "main.py\nutil.py\n"),
    Use("ls", ["-1", "src"], "main.py\nutil.py\n"),
    Use("ls", ["-a"], some(r"\.hidden")),
    Use("ls", ["-A", "src"], "main.py\nutil.py\n"),
    Use("ls", ["-la", "src"], some(r"(?m)^-rw.* main\.py$")),
    Use("ls", ["-l", "-h", "server.log"], some(r"2\.[5-8]K")),
    Use("ls", ["--all", "--reverse", "src"], "util.py\nmain.py\n..\n.\n"),
    Use("ls", ["-R", "src"], "src:\nmain.py\nutil.py\n"),
    Use("ls", ["-d", "src"], "src\n"),
    Use("ls", ["-F", "-d", "src"], "src/\n"),
    Use("ls", ["src/../src/"], "main.py\nutil.py\n"),
    Use("ls", ["/workspace/src"], "main.py\nutil.py\n"),
    Use("ls", ["./src", "./notes"], some(r"notes:\ntoday\.md")),
    Use("ls", ["a b.txt"], "a b.txt\n"),
    Use("ls", ["--", "-dash"], "./-dash\n"),
    Use("ls", {"paths": ["-dash"]}, "./-dash\n"),
    Use("ls", {"paths": ["src"], "oneColumn": True}, "main.py\nutil.py\n"),
    Use("ls", {"folder": "src"}, "main.py\nutil.py\n"),
    Use("ls", {"folder": "src", "arguments": ["../notes"]}, "today.md\n"),
    Use("ls", {"folder": "/workspace/src"}, "main.py\nutil.py\n"),
    Use("ls", {"all": False, "paths": ["src"]}, "main.py\nutil.py\n"),
    Use("stat", ["-c", "%n %s", "server.conf"], "server.conf 10\n"),
    Use("stat", ["--format=%F", "src"], "directory\n"),
    Use("stat", {"files": ["server.log"]}, some("Size: 2590")),
    Use("file", ["-b", "server.conf"], "ASCII text\n"),
    Use("file", ["--mime-type", "-b", "data.json"], "application/json\n"),
    Use("du", ["-sb", "notes"], some(r"\d+\tnotes")),
    Use("du", ["-a", "-d1", "src"], some(r"src/main\.py")),
    Use("du", {"maxDepth": 0, "humanReadable": True}, some(r"\t\.\n")),
    Use("df", ["-h", "."], some("Filesystem")),
    Use("pwd", [], "/workspace\n"),
    Use("pwd", {"folder": "src"}, "/workspace/src\n"),
    Use("basename", ["notes/today.md"], "today.md\n"),
    Use("basename", ["-s", ".md", "notes/today.md"], "today\n"),
    Use("basename", ["-a", "a/b", "c/d"], "b\nd\n"),
    Use("dirname", ["notes/today.md"], "notes\n"),
    Use("realpath", ["src/main.py"], "/workspace/src/main.py\n"),
    Use("realpath", ["--relative-to=notes", "src"], "../src\n"),
    Use("readlink", ["-f", "src/../notes"], "/workspace/notes\n"),
    Use("cp", ["server.conf", "copy.conf"], NONE),
    Use("cp", ["-v", "server.conf", "notes/"], "'server.conf' -> 'notes/server.conf'\n"),
    Use("cp", ["-r", "src", "copy"], NONE),
    Use("cp", {"sources": ["list.txt", "other.txt"], "destination": "notes"}, NONE),
    Use("cp", ["-n", "list.txt", "other.txt"], NONE),
    Use("mv", ["list.txt", "notes/list.txt"], NONE),
    Use("mv", ["-v", "list.txt", "l2"], "renamed 'list.txt' -> 'l2'\n"),
    Use("mv", ["--", "-dash", "dash"], NONE),
    Use("rm", ["-v", "list.txt"], "removed 'list.txt'\n"),
    Use("rm", ["-rf", "src"], NONE),
    Use("rm", ["-f", "not-there"], NONE),
    Use("rm", {"paths": ["-dash"]}, NONE),
    Use("mkdir", ["-pv", "x/y"], some("x/y")),
    Use("mkdir", {"paths": ["p", "q"]}, NONE),
    Use("rmdir", ["--ignore-fail-on-non-empty", "src"], NONE),
    Use("touch", ["new.txt"], NONE),
    Use("touch", ["-d", "2020-01-02", "new.txt"], NONE),
    Use("touch", ["-c", "not-made.txt"], NONE),
    Use("ln", ["-s", "server.conf", "link"], NONE),
    Use("ln", ["-sr", "server.conf", "notes/link"], NONE),
    Use("ln", ["server.conf", "hard"], NONE),
    Use("chmod", ["755", "src/main.py"], NONE),
    Use("chmod", ["u+x", "src/main.py"], NONE),
    Use("chmod", ["-v", "go-w", "server.conf"], some("retained|changed")),
    Use("chmod", {"mode": "-x", "paths": ["server.conf"]}, NONE),
    Use("chmod", ["-R", "a+r", "src"], NONE),
    Use("truncate", ["-s", "0", "server.log"], NONE),
    Use("truncate", ["--size=1K", "server.log"], NONE),
    Use("tee", {"files": ["out.txt"], "input": "said\n"}, "said\n"),
    Use("tee", {"arguments": ["-a", "list.txt"], "input": "more\n"}, "more\n"),
    Use("cat", ["server.conf"], "port = 80\n"),
    Use("cat", ["-n", "sorted.txt"], "     1\ta\n     2\tb\n     3\tc\n"),
    Use("cat", ["server.conf", "sorted.txt"], "port = 80\na\nb\nc\n"),
    Use("cat", ["-A", "server.conf"], "port = 80$\n"),
    Use("cat", {"input": "in\n"}, "in\n"),
    Use("cat", ["./-dash"], "a name that begins with a dash\n"),
    Use("tac", ["sorted.txt"], "c\nb\na\n"),
    Use("head", ["-n", "2", "server.log"], "line 0\nline 1\n"),
    Use("head", ["-n2", "server.log"], "line 0\nline 1\n"),
    Use("head", ["--lines=2", "server.log"], "line 0\nline 1\n"),
    Use("head", ["--lines", "2", "server.log"], "line 0\nline 1\n"),
    Use("head", ["-n", "-298", "server.log"], "line 0\nline 1\n"),
    Use("head", ["-c", "4", "server.log"], "line"),
    Use("head", {"lines": 1, "files": ["sorted.txt", "other.txt"], "quiet": True}, "a\nb\n"),
    Use("tail", ["-n", "1", "server.log"], "line 299\n"),
    Use("tail", ["-n", "+300", "server.log"], "line 299\n"),
    Use("tail", {"bytes": "4", "files": ["server.log"]}, "299\n"),
    Use("wc", ["-l", "server.log"], "300 server.log\n"),
    Use("wc", ["-lw"], some(r"0\s+0")),
    Use("wc", {"words": True, "input": "one two\n"}, "2\n"),
    Use("sort", ["list.txt"], "a\na\nb\nc\n"),
    Use("sort", ["-u", "list.txt"], "a\nb\nc\n"),
    Use("sort", ["-n", "numbers.txt"], "9\n10\n100\n"),
    Use("sort", ["-rn", "numbers.txt"], "100\n10\n9\n"),
    Use("sort", ["-t", ",", "-k", "2r", "table.csv"], "id,name\n2,bob\n1,ada\n"),
    Use("sort", ["-t,", "-k2,2", "-k1,1n", "table.csv"], "1,ada\n2,bob\nid,name\n"),
    Use("sort", {"key": ["2"], "fieldSeparator": "-", "input": "a-2\nb-1\n"}, "b-1\na-2\n"),
    Use("uniq", {"input": "a\na\nb\n"}, "a\nb\n"),
    Use("uniq", {"arguments": ["-c"], "input": "a\na\n"}, "      2 a\n"),
    Use("uniq", ["-d", "list.txt"], NONE),
    Use("cut", ["-d", ",", "-f", "2", "table.csv"], "name\nada\nbob\n"),
    Use("cut", ["-d,", "-f1-", "table.csv"], "id,name\n1,ada\n2,bob\n"),
    Use("cut", ["-c1-4", "server.conf"], "port\n"),
    Use("cut", ["-c", "-4", "server.conf"], "port\n"),
    Use("tr", {"arguments": ["a-z", "A-Z"], "input": "door\n"}, "DOOR\n"),
    Use("tr", {"arguments": ["-d", "o"], "input": "door\n"}, "dr\n"),
    Use("tr", {"from": "-", "to": "_", "input": "a-b\n"}, "a_b\n"),
    Use("nl", ["-b", "a", "sorted.txt"], "     1\ta\n     2\tb\n     3\tc\n"),
    Use("paste", ["-d,", "sorted.txt", "other.txt"], "a,b\nb,c\nc,d\n"),
    Use("paste", ["-s", "sorted.txt"], "a\tb\tc\n"),
    Use("comm", ["-12", "sorted.txt", "other.txt"], "b\nc\n"),
    Use("comm", ["-3", "sorted.txt", "other.txt"], "a\n\td\n"),
    Use("join", ["sorted.txt", "other.txt"], "b\nc\n"),
    Use("join", ["-t", ",", "-1", "1", "-2", "1", "table.csv", "table.csv"], some("1,ada,ada")),
    Use("fold", {"arguments": ["-w", "3"], "input": "abcdef\n"}, "abc\ndef\n"),
    Use("fmt", {"arguments": ["-w", "9"], "input": "one two three\n"}, "one two\nthree\n"),
    Use("expand", {"arguments": ["-t", "4"], "input": "\tx\n"}, "    x\n"),
    Use("unexpand", {"arguments": ["-t", "4"], "input": "    x\n"}, "\tx\n"),
    Use("column", ["-t", "-s", ",", "table.csv"], "id  name\n1   ada\n2   bob\n"),
    Use("rev", ["sorted.txt"], "a\nb\nc\n"),
    Use("rev", {"input": "door\n"}, "rood\n"),
    Use("shuf", {"arguments": ["-n", "1"], "input": "x\n"}, "x\n"),
    Use("shuf", ["-i", "5-5"], "5\n"),
    Use("echo", ["hello", "world"], "hello world\n"),
    Use("echo", ["test; rm -rf /"], "test; rm -rf /\n"),
    Use("echo", ["`whoami`"], "`whoami`\n"),
    Use("echo", {"text": ["$(id) $HOME && true | false > x", "*", "~"]}, "$(id) $HOME && true | false > x * ~\n"),
    Use("print_text", {"text": ["by its alias"]}, "by its alias\n"),
    Use("printf", ["%05d|%s\\n", "42", "x"], "00042|x\n"),
    Use("printf", {"format": "-%s\\n", "values": ["-n"]}, "--n\n"),
    Use("seq", ["3"], "1\n2\n3\n"),
    Use("seq", ["-s", ",", "2", "2", "6"], "2,4,6\n"),
    Use("seq", {"numbers": [-1, 1]}, "-1\n0\n1\n"),
    Use("sed", ["s/port/door/", "server.conf"], "door = 80\n"),
    Use("sed", ["-n", "2p", "sorted.txt"], "b\n"),
    Use("sed", ["-nE", "/^(a|c)$/p", "sorted.txt"], "a\nc\n"),
    Use("sed", {"script": "1d", "input": "x\ny\n"}, "y\n"),
    Use("jq", ["-r", ".name", "data.json"], "door\n"),
    Use("jq", ["-c", ".tags", "data.json"], '["a","b"]\n'),
    Use("jq", {"filter": "length", "input": "[1,2]"}, "2\n"),
    Use("grep", ["-n", "TODO", "src/main.py"], "2:    pass  # TODO\n"),
    Use("grep", ["-rn", "def main", "src"], "src/main.py:1:def main():\n"),
    Use("grep", ["-ril", "IMPORT", "src"], "src/util.py\n"),
    Use("grep", ["-c", "line", "server.log"], "300\n"),
    Use("grep", ["-v", "a", "list.txt"], "b\nc\n"),
    Use("grep", ["-E", "^(b|c)$", "list.txt"], "b\nc\n"),
    Use("grep", ["-A1", "-m1", "b", "list.txt"], "b\na\n"),
    Use("grep", ["--include=*.py", "-r", "os", "."], "./src/util.py:import os\n"),
    Use("grep", ["no such thing", "list.txt"], NONE),
    Use("grep", {"pattern": "-dash", "fixedStrings": True, "input": "a -dash b\n"}, "a -dash b\n"),
    Use("find", ["src"], some(r"src/main\.py")),
    Use("find", [".", "-name", "*.py"], some(r"\./src/util\.py")),
    Use("find", [".", "-maxdepth", "1", "-type", "d", "-name", "src"], "./src\n"),
    Use("find", ["src", "notes", "-type", "f", "-size", "-1k"], NONE),
    Use("find", [".", "-mtime", "-7", "-name", "list.txt"], "./list.txt\n"),
    Use("find", {"paths": ["src"], "newer": "src/../list.txt", "name": "x"}, NONE),
    Use("find", {"name": "today.md"}, "./notes/today.md\n"),
    Use("diff", ["sorted.txt", "other.txt"], "1d0\n< a\n3a3\n> d\n"),
    Use("diff", ["-u", "sorted.txt", "other.txt"], some(r"(?m)^-a$")),
    Use("diff", ["-q", "list.txt", "list.txt"], NONE),
    Use("cmp", ["list.txt", "other.txt"], some("differ")),
    Use("cmp", ["-s", "list.txt", "list.txt"], NONE),
    Use("sha256sum", ["server.conf"], some(r"^[0-9a-f]{64}  server\.conf\n$")),
    Use("sha1sum", {"input": ""}, "da39a3ee5e6b4b0d3255bfef95601890afd80709  -\n"),
    Use("sha512sum", ["server.conf"], some(r"^[0-9a-f]{128}  server\.conf\n$")),
    Use("md5sum", {"input": "door"}, some(r"^[0-9a-f]{32}  -\n$")),
    Use("cksum", ["server.conf"], some(r"^\d+ 10 server\.conf\n$")),
    Use("base64", {"input": "door"}, "ZG9vcg==\n"),
    Use("base64", {"arguments": ["-d"], "input": "ZG9vcg=="}, "door"),
    Use("od", ["-A", "n", "-t", "x1", "logo.png"], " 00 01\n"),
    Use("xxd", ["-p", "logo.png"], "0001\n"),
    Use("xxd", ["-l", "4", "server.conf"], some("port")),
    Use("strings", ["-n", "4", "server.conf"], "port = 80\n"),
    Use("tar_create", ["-f", "x.tar", "notes"], NONE),
    Use("tar_create", ["-zvf", "x.tar.gz", "-C", "src", "main.py"], "main.py\n"),
    Use("tar_create", {"archive": "a:b.tar", "paths": ["notes"]}, NONE),
    Use("gzip", ["-k", "server.log"], NONE),
    Use("date", ["-u", "-d", "@0", "+%Y-%m-%d"], "1970-01-01\n"),
    Use("date", ["--rfc-3339=seconds", "-u", "-d", "2020-02-03"], "2020-02-03 00:00:00+00:00\n"),
    Use("date", [], ANY),
    Use("whoami", [], "agent\n"),
    Use("id", ["-u"], "1000\n"),
    Use("id", ["-un"], "agent\n"),
    Use("hostname", [], ANY),
    Use("uname", ["-s"], "Linux\n"),
    Use("uname", {"all": True}, some("Linux")),
    Use("arch", [], ANY),
    Use("nproc", [], some(r"^\d+\n$")),
    Use("uptime", ["-p"], some("up")),
    Use("free", ["-m"], some("Mem:")),
    Use("sleep", ["0.01"], NONE),
    Use("true", [], NONE),
    Use("false", [], NONE),
    Use("git_status", ["-s"], NONE),
    Use("git_status", ["-sb"], "## main\n"),
    Use("git status", {"short": True}, NONE),
    Use("git_status", {"folder": "src", "porcelain": True}, NONE),
    Use("git_log", ["--oneline"], some(rf"^{SHA} The first commit\n$")),
    Use("git_log", ["-n1", "--format=oneline", "main", "--", "src"], some("The first commit")),
    Use("git_log", {"maxCount": 5, "stat": True}, some(r"src/main\.py")),
    Use("git_log", ["-p", "-STODO", "--", "src"], some("TODO")),
    Use("git_log", {"since": "2 weeks ago", "author": "owner"}, some("first commit")),
    Use("git_diff", [], NONE),
    Use("git_diff", ["--stat", "HEAD"], NONE),
    Use("git_diff", ["v0", "main", "--", "src"], NONE),
    Use("git_show", ["--stat"], some(r"server\.conf")),
    Use("git_show", ["HEAD:server.conf"], "port = 80\n"),
    Use("git_show", ["-s", "--format=oneline", "v0"], some("The first commit")),
    Use("git_branch", [], "* main\n"),
    Use("git_branch_create", ["idea"], NONE),
    Use("git_blame", ["src/main.py"], some("def main")),
    Use("git_blame", ["-L", "2,2", "HEAD", "--", "src/main.py"], some("TODO")),
    Use("git_add", ["-A"], NONE),
    Use("git_add", ["server.conf", "src"], NONE),
    Use("git_commit", ["--allow-empty", "-m", "-a message; `id` $(id)"], some(r"-a message; `id` \$\(id\)")),
    Use("git_commit", {"message": ["One", "Two"], "allowEmpty": True, "quiet": True}, NONE),
    Use("git_init", ["inner"], some("Initialized empty Git repository")),
    Use("git_restore", ["src/main.py"], NONE),
    Use("git_restore", ["--staged", "."], NONE),
    Use("git_switch", ["-c", "idea"], NONE),
    Use("git_switch", ["main"], NONE),
    Use("git_tag", [], "v0\n"),
    Use("git_tag_create", ["-m", "A release", "v1"], NONE),
    Use("git_ls_files", ["src"], "src/main.py\nsrc/util.py\n"),
    Use("git_ls_files", {"others": True, "excludeStandard": True}, NONE),
    Use("git_grep", ["-n", "TODO"], "src/main.py:2:    pass  # TODO\n"),
    Use("git_grep", ["-l", "def", "--", "src"], "src/main.py\n"),
    Use("git_rev_parse", ["--short", "HEAD"], some(rf"^{SHA}\n$")),
    Use("git_rev_parse", ["--abbrev-ref", "HEAD"], "main\n"),
]


@pytest.mark.parametrize("use", USES, ids=[f"{use.command} {use.given}" for use in USES])
async def test_it_works(shell: Shell, use: Use) -> None:
    outcome = await shell.ask(use.command, use.given)
    assert outcome.status == "done", outcome
    printed = outcome.result["stdout"]
    assert outcome.result["sandbox"] == "full"
    assert use.expected.search(printed) if isinstance(use.expected, re.Pattern) else printed == use.expected


NEEDED: dict[str, list[tuple[str, list[str]]]] = {
    "tar_list": [("tar_create", ["-zf", "notes.tar.gz", "notes"])],
    "tar_extract": [("tar_create", ["-zf", "notes.tar.gz", "notes"])],
    "gunzip": [("gzip", ["server.log"])],
    "zcat": [("gzip", ["server.log"])],
}
EXAMPLES = [(entry.name, example) for entry in ENTRIES.values() for example in entry.examples]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {example.says}" for name, example in EXAMPLES])
async def test_every_example_of_an_entry_works(shell: Shell, name: str, example: Any) -> None:
    for command, words in NEEDED.get(name, []):
        assert (await shell.ask(command, words)).status == "done"
    outcome = await shell.ask(f"shell/{name}", dict(example.params))
    assert outcome.status == "done", outcome


async def test_what_is_packed_can_be_unpacked(shell: Shell) -> None:
    assert (await shell.ask("tar_create", ["-zf", "n.tgz", "notes"])).status == "done"
    assert (await shell.ask("rm", ["-r", "notes"])).status == "done"
    listed = await shell.ask("tar_list", ["-f", "n.tgz"])
    assert listed.result["stdout"] == "notes/\nnotes/today.md\n"
    assert (await shell.ask("tar_extract", ["-f", "n.tgz"])).status == "done"
    assert (shell.workspace / "notes/today.md").read_text() == FILES["notes/today.md"]


async def test_what_changes_files_really_does(shell: Shell) -> None:
    for command, words in (
        ("cp", ["server.conf", "copy.conf"]),
        ("mv", ["list.txt", "moved.txt"]),
        ("rm", ["other.txt"]),
        ("mkdir", ["made"]),
        ("chmod", ["600", "server.conf"]),
        ("ln", ["-s", "server.conf", "link"]),
    ):
        assert (await shell.ask(command, words)).status == "done"
    workspace = shell.workspace
    assert (workspace / "copy.conf").read_text() == "port = 80\n"
    assert (workspace / "moved.txt").exists()
    assert not (workspace / "list.txt").exists()
    assert not (workspace / "other.txt").exists()
    assert (workspace / "made").is_dir()
    assert (workspace / "server.conf").stat().st_mode & 0o777 == 0o600
    assert (workspace / "link").is_symlink()


def test_the_table_leaves_out_no_command_and_is_long() -> None:
    tried = {use.command.removeprefix("shell/") for use in USES} | set(NEEDED)
    assert sorted(set(ENTRIES) - tried) == []
    assert len(USES) >= 150
    assert len(ENTRIES) >= 45
