"""Requests about the git repository of the folder: status, differences, branches and commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_names import find_names, known_words
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.word_claims import WordClaims

_MAX_COMMITS = 1_000
_LISTED = 10
_COMMIT = re.compile(
    r"^commit (?P<hash>[0-9a-f]{7,64})[^\n]*\n(?:Merge: [^\n]*\n)?Author: (?P<author>[^\n]*?) <[^\n]*>\n"
    r"Date: +(?P<date>[^\n]*)\n",
    re.MULTILINE,
)
_CUT = re.compile(r"^\[cut: |^stdout: \d+ of \d+ bytes kept", re.MULTILINE)


class Commit(msgspec.Struct, frozen=True):
    hash: str
    author: str
    date: str
    message: str
    files: tuple[str, ...] = ()

    def describe(self, context: RequestContext) -> str:
        when = sentences.when(self.date, context.zone)
        return f"{self.hash[:8]} {self.title} by {sentences.name(self.author)}, {when}"

    @property
    def title(self) -> str:
        return sentences.name(self.message.partition("\n")[0])


class CommitQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which commits are meant, and what is asked about them."""

    asks: str
    """`list`, `count`, `author`, `message`, `files`, `date` or `show`."""
    most: int | None = None
    author: str = ""
    text: str = ""
    params: dict[str, Any] = {}
    says: str = ""


def read(context: RequestContext) -> Iterable[Reading]:
    claims = WordClaims(context.request, known_words(context))
    found = _read_state(context, claims)
    if found is None:
        claims = WordClaims(context.request, known_words(context))
        found = _read_commits(context, claims)
    if found is not None:
        name, steps = found
        yield Reading(name=name, steps=steps, explained=claims.explained, score=1.1, says=name)


def _call(context: RequestContext, command: str, **params: Any) -> Step:
    if not context.offered(command):
        raise NotOffered(command)
    return Step(command, params)


def _read_state(context: RequestContext, claims: WordClaims) -> tuple[str, Callable[[], Steps]] | None:
    """A request about branches, tags, uncommitted changes or differences."""
    request = claims.request
    git = claims.claim("git")
    if claims.find("branch"):
        current = claims.claim("current")
        claims.claim("branch", "count" if request.has("how many", "number", "count") else "branch")
        counts = request.has("how many", "number", "count")
        return "git branches", lambda: _branches(context, current=current, counts=counts)
    if claims.find("tag") and git:
        claims.claim("tag")
        return "git tags", lambda: _quote(context, "shell/git_tag", "The tags", "There are no tags.")
    since_last = bool(
        since := request.places(
            "since the last commit", "since last commit", "since my last commit", "since the latest commit"
        )
    )
    if (
        claims.find("difference")
        and not any(one.kind == "path" for one in request.tokens)
        and (git or claims.find("uncommitted") or since_last or claims.find("commit"))
    ):
        claims.claim("difference", "uncommitted", "state")
        if since_last:
            claims.claim_places(since)
            claims.claim("modified")
        return "git diff", lambda: _quote(
            context, "shell/git_diff", "The uncommitted changes", "Nothing has changed since the last commit."
        )
    if claims.find("uncommitted") or since_last or (git and claims.find("state")):
        claims.claim("uncommitted", "state", "file", "modified")
        if since_last:
            claims.claim_places(since)
            return "git diff", lambda: _quote(
                context, "shell/git_diff", "The uncommitted changes", "Nothing has changed since the last commit."
            )
        return "git status", lambda: _status(context)
    return None


def _status(context: RequestContext) -> Steps:
    (result,) = yield [_call(context, "shell/git_status", short=True)]
    lines = [one for one in result.text.splitlines() if one.strip()]
    if not lines:
        return "Nothing has changed since the last commit."
    files = sentences.counted(len(lines), "file has", "files have")
    return f"{files} uncommitted changes:\n{sentences.quote(result.text)}"


def _quote(context: RequestContext, command: str, head: str, nothing: str) -> Steps:
    (result,) = yield [_call(context, command)]
    return f"{head}:\n{sentences.quote(result.text)}" if result.text.strip() else nothing


def _branches(context: RequestContext, *, current: bool, counts: bool) -> Steps:
    (result,) = yield [_call(context, "shell/git_branch")]
    names = [one.lstrip("*+ ").strip() for one in result.text.splitlines() if one.strip()]
    here = next((one.lstrip("* ").strip() for one in result.text.splitlines() if one.startswith("*")), "")
    if current and here:
        return f"The current branch is {sentences.name(here)}."
    if not names:
        return "There are no branches yet."
    head = f"There {'is' if len(names) == 1 else 'are'} {sentences.counted(len(names), 'branch', 'branches')}"
    if counts:
        return f"{head}."
    shown = [sentences.name(one) + (" (current)" if one == here else "") for one in names[:50]]
    return f"{head}: {sentences.in_a_row(shown)}."


def _read_commits(context: RequestContext, claims: WordClaims) -> tuple[str, Callable[[], Steps]] | None:
    """A request about commits."""
    request = claims.request
    git = claims.claim("git")
    commit = claims.claim("commit")
    log = git and claims.claim("log")
    names = find_names(context, claims, by_words=not claims.find("mention"))
    who_last = request.has("who") and bool(names.files) and bool(claims.find("modified")) and request.has("last")
    if not (commit or log or who_last):
        return None
    params: dict[str, Any] = {}
    conditions = ""
    if names.files:
        params["paths"] = list(names.files)
        claims.claim("modified", "file")
        conditions += f" touching {sentences.in_a_row([sentences.name(one) for one in names.files])}"
    elif names.folder or names.suffixes:
        return None
    if len(context.spans) == 1:
        span = context.spans[0]
        claims.claim_places(span.places)
        params |= {"since": span.since.isoformat()} if span.since else {}
        params |= {"until": span.until.isoformat()} if span.until else {}
        conditions += f" {span.says}"
    counts = request.has("how many", "number", "count", "how often", "how many times")
    last, most = _amount(claims, counts=counts)
    asks = "count" if counts else "list"
    if counts:
        claims.claim("count")
    elif request.has("who", "author", "whose", "committer"):
        claims.claim("author")
        asks, most = "author", most or 1
    elif (claims.find("file") or claims.find("modified")) and not names.files and (most == 1 or last):
        claims.claim("file", "modified", "only")
        asks, most = "files", most or 1
    elif request.has("message", "title", "subject", "about") and (most == 1 or last):
        claims.claim("message")
        asks, most = "message", 1
    elif request.has("when") and last:
        claims.claim("date")
        asks, most = "date", 1
    claims.claim("author", "date" if asks == "date" else "author")
    mentions = claims.claim("mention") or (claims.request.has("about") and asks in ("list", "count"))
    claims.claim("history", "message" if mentions else "history", "make")
    text = author = ""
    run = claims.left_run
    if (
        run is not None
        and (mentions or _is_person(claims, *run))
        and not re.search(r"\b(?:and|or|not|but|without)\b", claims.text(*run), re.IGNORECASE)
    ):
        claims.claim_places(range(*run))
        text, author = (claims.text(*run), "") if mentions else ("", claims.text(*run))
    conditions = (f" by {sentences.name(author)}" if author else "") + conditions
    conditions += f" mentioning {sentences.name(text)}" if text else ""
    query = CommitQuery(asks=asks, most=most, author=author, text=text, params=params, says=conditions)
    return f"commits{conditions}: {asks}", lambda: _answer(context, query)


def _is_person(claims: WordClaims, first: int, behind: int) -> bool:
    """Whether words stand where the author of commits stands: `by Anna`, `Anna's commits`, `did Anna commit`."""
    words = [one.lower for one in claims.request.tokens]
    before, after = words[first - 1] if first else "", words[behind] if behind < len(words) else ""
    return before in ("by", "from", "of", "did", "has", "have") or after in ("'s", "made", "make", "committed")


def _amount(claims: WordClaims, *, counts: bool) -> tuple[bool, int | None]:
    """Return whether the last commit or commits are meant, and how many."""
    found = claims.find("last") | claims.find("newest")
    if counts:
        return False, None
    claims.claim_places(found)
    number = claims.claim_number()
    several = any(one.lower == "commits" for one in claims.request.tokens)
    return bool(found), number or (1 if found and not several else None)


def _answer(context: RequestContext, query: CommitQuery) -> Steps:
    params = {**query.params, "date": "iso-strict", "maxCount": _MAX_COMMITS}
    if query.author:
        params["author"] = _any_case(query.author)
    if query.text:
        params["grep"] = _any_case(query.text)
    if query.most and not (query.author or query.text):
        params["maxCount"] = query.most
    elif query.asks == "list" and not query.most:
        params["maxCount"] = _LISTED if not query.says else 50
    if query.asks == "files":
        params["nameOnly"] = True
    (result,) = yield [_call(context, "shell/git_log", **params)]
    commits = parse_log(result)
    if not commits and query.author:
        raise Unknown(f"I do not know {sentences.name(query.author)}: no commit has such an author.")
    if not commits:
        return f"There are no commits{query.says}."
    cut = _CUT.search(result.text) is not None or len(commits) == _MAX_COMMITS
    return _describe(context, query, commits[: query.most] if query.most else commits, cut=cut)


def _any_case(text: str) -> str:
    """Return a pattern for a text in small or capital letters."""
    return "".join(
        f"[{one.upper()}{one.lower()}]" if one.isalpha() else re.escape(one) if one in ".*[]^$\\" else one
        for one in text
    )


def parse_log(result: ToolResult) -> list[Commit]:
    """Read the commits that git printed."""
    text = result.text
    starts = list(_COMMIT.finditer(text))
    commits = []
    for number, one in enumerate(starts):
        body = text[one.end() : starts[number + 1].start() if number + 1 < len(starts) else len(text)]
        lines = body.strip("\n").splitlines()
        message = "\n".join(line[4:] for line in lines if line.startswith("    ")).strip()
        files = tuple(line for line in lines if line and not line.startswith((" ", "[cut: ", "stdout: ")))
        commits.append(Commit(one["hash"], one["author"], one["date"].strip(), message, files))
    return commits


def _describe(context: RequestContext, query: CommitQuery, commits: list[Commit], *, cut: bool) -> str:
    first = commits[0]
    if query.asks == "count":
        least, many = "at least " if cut else "", sentences.counted(len(commits), "commit", "commits")
        return f"There {'is' if len(commits) == 1 else 'are'} {least}{many}{query.says}."
    if query.asks == "author" and len(commits) == 1:
        when = sentences.when(first.date, context.zone)
        return f"{sentences.one_line(first.author)} made the last commit{query.says}: {first.title}, {when}."
    if query.asks == "message":
        return f"The message of the last commit{query.says} is:\n{sentences.quote(first.message)}"
    if query.asks == "files":
        files = list(dict.fromkeys(path for one in commits for path in one.files))
        which = "The last commit" if len(commits) == 1 else f"The last {len(commits)} commits"
        names = sentences.in_a_row([sentences.name(one) for one in files[:50]])
        return f"{which}{query.says} changed {sentences.counted(len(files), 'file', 'files')}: {names}."
    if query.asks == "date":
        return f"The last commit{query.says} was made on {sentences.when(first.date, context.zone)}."
    if query.most == 1:
        return f"The last commit{query.says} is {first.describe(context)}."
    head = f"The last {len(commits)} commits{query.says}" if len(commits) > 1 else f"There is 1 commit{query.says}"
    return f"{head}:\n{sentences.bullets([one.describe(context) for one in commits], most=50)}"
