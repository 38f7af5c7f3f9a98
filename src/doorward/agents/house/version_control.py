"""Requests about the git repository of the folder: status, differences, branches and commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_names import find_names
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.word_claims import WordClaims

_MAX_COMMITS = 1_000
_COMMIT = re.compile(
    r"^commit (?P<hash>[0-9a-f]{7,64})[^\n]*\n(?:Merge: [^\n]*\n)?Author: (?P<author>[^\n]*?) <[^\n]*>\n"
    r"Date: +(?P<date>[^\n]*)\n",
    re.MULTILINE,
)
_CUT = re.compile(r"^\[cut: |^stdout: \d+ of \d+ bytes kept", re.MULTILINE)
_JOINTS = re.compile(r"\b(?:and|or|not|but|without)\b", re.IGNORECASE)
_SINCE_LAST = ("since the last commit", "since last commit", "since my last commit", "since the latest commit")


class Commit(msgspec.Struct, frozen=True):
    hash: str
    author: str
    date: str
    message: str
    files: tuple[str, ...]

    @property
    def title(self) -> str:
        return sentences.name(self.message.partition("\n")[0])


class CommitQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which commits are meant, and what is asked about them."""

    asks: str
    """`list`, `count`, `author`, `message`, `files` or `date`."""
    most: int | None
    author: str
    text: str
    params: dict[str, Any]
    says: str


def read(context: RequestContext) -> Iterable[Reading]:
    for reader in (_read_state, _read_commits):
        claims = WordClaims(context.request)
        found = reader(context, claims)
        if found is not None:
            name, steps = found
            yield Reading(name=name, steps=steps, explained=claims.explained, score=1.1, says=name)
            return


def _call(context: RequestContext, command: str, **params: Any) -> Step:
    if not context.offered(command):
        raise NotOffered(command)
    return Step(command, params)


def _read_state(context: RequestContext, claims: WordClaims) -> tuple[str, Callable[[], Steps]] | None:
    """A request about branches, uncommitted changes or differences."""
    git = claims.claim("git")
    if claims.claim("branch"):
        current, counts = claims.claim("current"), claims.asks_count
        claims.claim(*(["count"] if counts else []))
        return "git branches", lambda: _branches(context, current=current, counts=counts)
    since_last = claims.request.places(*_SINCE_LAST)
    uncommitted = bool(claims.find("uncommitted"))
    names_path = any(one.kind == "path" for one in claims.request.tokens)
    differs = bool(claims.find("difference")) and not names_path
    if since_last or (differs and (git or uncommitted or claims.find("commit"))):
        claims.claim_places(since_last)
        claims.claim("difference", "uncommitted", "state", "file", *(["modified"] if since_last else []))
        return "git diff", lambda: _changes(context, "shell/git_diff")
    if uncommitted or (git and claims.find("state")):
        claims.claim("uncommitted", "state", "file", "modified")
        return "git status", lambda: _changes(context, "shell/git_status", short=True)
    return None


def _changes(context: RequestContext, command: str, **params: Any) -> Steps:
    (result,) = yield [_call(context, command, **params)]
    lines = [one for one in result.text.splitlines() if one.strip()]
    if not lines:
        return "Nothing has changed since the last commit."
    files = sentences.counted(len(lines), "file has", "files have")
    head = f"{files} uncommitted changes" if params else "The uncommitted changes"
    return f"{head}:\n{sentences.quote(result.text)}"


def _branches(context: RequestContext, *, current: bool, counts: bool) -> Steps:
    (result,) = yield [_call(context, "shell/git_branch")]
    lines = [one for one in result.text.splitlines() if one.strip()]
    here = next((one.lstrip("* ").strip() for one in lines if one.startswith("*")), "")
    if current and here:
        return f"The current branch is {sentences.name(here)}."
    if not lines:
        return "There are no branches yet."
    head = f"There {'is' if len(lines) == 1 else 'are'} {sentences.counted(len(lines), 'branch', 'branches')}"
    if counts:
        return f"{head}."
    names = [one.lstrip("*+ ").strip() for one in lines[:50]]
    return f"{head}: {sentences.in_a_row([sentences.name(one) + ' (current)' * (one == here) for one in names])}."


def _read_commits(context: RequestContext, claims: WordClaims) -> tuple[str, Callable[[], Steps]] | None:
    """A request about commits."""
    request = claims.request
    git, commit = claims.claim("git"), claims.claim("commit")
    log = git and claims.claim("log")
    names = find_names(context, claims, by_words=not claims.find("mention"))
    who_last = request.has("who") and request.has("last") and bool(names.files) and bool(claims.find("modified"))
    activity = git and not commit and claims.claim("activity")
    if not (commit or log or who_last or activity) or (not names.files and (names.folder or names.suffixes)):
        return None
    params: dict[str, Any] = {}
    conditions = ""
    if names.files:
        params["paths"] = list(names.files)
        claims.claim("modified", "file")
        conditions += f" touching {sentences.in_a_row([sentences.name(one) for one in names.files])}"
    if len(context.spans) == 1:
        span = context.spans[0]
        claims.claim_places(span.places)
        params |= {"since": span.since.isoformat()} if span.since else {}
        params |= {"until": span.until.isoformat()} if span.until else {}
        conditions += f" {span.says}"
    asks, most = _claim_question(claims, names_file=bool(names.files))
    mentions = claims.claim("mention") or (request.has("about") and asks in ("list", "count"))
    claims.claim("author", "history", "make", *(["message"] if mentions else []))
    text = author = ""
    run = claims.left_run
    if run and (mentions or _is_person(claims, *run)) and not _JOINTS.search(claims.text(*run)):
        claims.claim_places(range(*run))
        text, author = (claims.text(*run), "") if mentions else ("", claims.text(*run))
    conditions = (f" by {sentences.name(author)}" if author else "") + conditions
    conditions += f" mentioning {sentences.name(text)}" if text else ""
    query = CommitQuery(asks=asks, most=most, author=author, text=text, params=params, says=conditions)
    return f"commits{conditions}: {asks}", lambda: _answer(context, query)


def _claim_question(claims: WordClaims, *, names_file: bool) -> tuple[str, int | None]:
    """Account for what is asked about commits; return it and how many of the last commits are meant."""
    request = claims.request
    if claims.asks_count:
        claims.claim("count")
        return "count", None
    last = claims.claim("last", "newest")
    several = any(one.lower == "commits" for one in request.tokens)
    most = claims.claim_number() or (1 if last and not several else None)
    if request.has("who", "author", "whose", "committer"):
        return "author", most or 1
    if last and not names_file and claims.claim("file", "modified"):
        claims.claim("only")
        return "files", most or 1
    if last and request.has("message", "title", "subject", "about"):
        claims.claim("message")
        return "message", 1
    if last and request.has("when"):
        claims.claim("date")
        return "date", 1
    return "list", most


def _is_person(claims: WordClaims, first: int, behind: int) -> bool:
    """Whether words stand where the author of commits stands: `by Anna`, `Anna's commits`, `did Anna commit`."""
    words = [one.lower for one in claims.request.tokens]
    before, after = words[first - 1] if first else "", words[behind] if behind < len(words) else ""
    return before in ("by", "from", "of", "did", "has", "have") or after in ("'s", "made", "make", "committed")


def _answer(context: RequestContext, query: CommitQuery) -> Steps:
    params = {**query.params, "date": "iso-strict", "maxCount": _MAX_COMMITS}
    for key, wanted in (("author", query.author), ("grep", query.text)):
        params |= {key: _any_case(wanted)} if wanted else {}
    if query.most and not (query.author or query.text):
        params["maxCount"] = query.most
    elif query.asks == "list" and not query.most:
        params["maxCount"] = 50 if query.says else 10
    if query.asks == "files":
        params["nameOnly"] = True
    (result,) = yield [_call(context, "shell/git_log", **params)]
    commits = _parse_log(result.text)
    if not commits and query.author:
        raise Unknown(f"I do not know {sentences.name(query.author)}: no commit has such an author.")
    if not commits:
        return f"There are no commits{query.says}."
    is_cut = _CUT.search(result.text) is not None or len(commits) == _MAX_COMMITS
    return _describe(context, query, commits[: query.most], is_cut=is_cut)


def _any_case(text: str) -> str:
    """Return a pattern for a text in small or capital letters."""
    return "".join(
        f"[{one.upper()}{one.lower()}]" if one.isalpha() else re.escape(one) if one in ".*[]^$\\" else one
        for one in text
    )


def _parse_log(text: str) -> list[Commit]:
    """Read the commits that git printed."""
    starts = list(_COMMIT.finditer(text))
    ends = [*(one.start() for one in starts[1:]), len(text)]
    commits = []
    for one, end in zip(starts, ends, strict=False):
        lines = text[one.end() : end].strip("\n").splitlines()
        message = "\n".join(line[4:] for line in lines if line.startswith("    ")).strip()
        files = tuple(line for line in lines if line and not line.startswith((" ", "[cut: ", "stdout: ")))
        commits.append(Commit(one["hash"], one["author"], one["date"].strip(), message, files))
    return commits


def _describe(context: RequestContext, query: CommitQuery, commits: list[Commit], *, is_cut: bool) -> str:
    first, count = commits[0], len(commits)
    when = sentences.when(first.date, context.zone)
    if query.asks == "count":
        many = f"{'at least ' if is_cut else ''}{sentences.counted(count, 'commit', 'commits')}"
        return f"There {'is' if count == 1 else 'are'} {many}{query.says}."
    if query.asks == "author" and count == 1:
        return f"{sentences.one_line(first.author)} made the last commit{query.says}: {first.title}, {when}."
    if query.asks == "message":
        return f"The message of the last commit{query.says} is:\n{sentences.quote(first.message)}"
    if query.asks == "date":
        return f"The last commit{query.says} was made on {when}."
    which = "The last commit" if count == 1 else f"The last {count} commits"
    if query.asks == "files":
        files = list(dict.fromkeys(path for one in commits for path in one.files))
        names = sentences.in_a_row([sentences.name(one) for one in files[:50]])
        return f"{which}{query.says} changed {sentences.counted(len(files), 'file', 'files')}: {names}."
    lines = [
        f"{one.hash[:8]} {one.title} by {sentences.name(one.author)}, {sentences.when(one.date, context.zone)}"
        for one in commits
    ]
    return f"{which}{query.says}:\n{sentences.bullets(lines, most=50)}"
