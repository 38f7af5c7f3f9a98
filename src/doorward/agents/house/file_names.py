"""Files and folders that a request names: by path, by name, or by words such as `the budget note`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import msgspec

from doorward.agents.house.request import Token
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import name_words, singular, stop_words

KINDS: dict[str, tuple[str, ...]] = {
    "Python": (".py",),
    "Markdown": (".md", ".markdown"),
    "image": (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"),
    "CSV": (".csv",),
    "log": (".log",),
    "PDF": (".pdf",),
    "text": (".txt",),
    "JSON": (".json",),
    "YAML": (".yaml", ".yml"),
    "TOML": (".toml",),
    "JavaScript": (".js", ".mjs"),
    "HTML": (".html", ".htm"),
    "video": (".mp4", ".mov", ".mkv", ".webm", ".avi"),
}
_KIND_WORDS = {one.lower(): one for one in KINDS} | {"picture": "image", "photo": "image", "movie": "video"}
MAX_KNOWN = 200
"""Files that a conversation knows; if there are so many, there may be more."""
_NOUNS = ("file", "document", "script", "doc")
_FOLDERS = ("folder", "directory")
_INTO = ("in", "inside", "under", "below", "within", "from", "of", "into", "to", "at")
_PAPERS = frozenset(("note", "file", "document", "list", "export", "table", "log", "page", "text", "data", "sheet"))
"""Words that say what a file is, beside its name."""


class FileNames(msgspec.Struct, frozen=True, kw_only=True):
    """The files and folders that a request names."""

    files: tuple[str, ...] = ()
    """Paths of the files, as they were found or typed."""
    choices: tuple[str, ...] = ()
    """Files between which the request does not decide."""
    by_words: bool = False
    """Whether a file is named by words and not by its path or name."""
    folder: str = ""
    """A folder; `~` is that of the asker."""
    loose: bool = False
    """Whether the folder is named by a mere word, as in `what do the notes say`."""
    kind: str = ""
    suffixes: tuple[str, ...] = ()


def find_names(context: RequestContext, claims: WordClaims, *, by_words: bool = True) -> FileNames:
    """Find the files, the folder and the kind of file that a request names, and account for their words.

    With `by_words`, words such as `the budget note` may name a file.
    """
    known = context.conversation.files
    files, folder, choices = _paths(known, claims)
    kind, suffixes = _kind(claims, known)
    loose = False
    if not folder:
        folder, loose = _folder(known, claims, bare=not kind and not files)
    base = posixpath.basename(folder)
    claims.claim_places(
        place
        for place, one in enumerate(claims.request.tokens)
        if base and one.kind == "word" and _is_same(base, one.lower)
    )
    is_named = bool(files or choices or suffixes)
    fitting: tuple[str, ...] = ()
    if by_words and not is_named:
        fitting = _named_by_words(known, claims, folder)
        files, choices = (fitting, ()) if len(fitting) == 1 else ((), fitting)
    return FileNames(
        files=tuple(dict.fromkeys(files)),
        choices=choices,
        by_words=bool(fitting),
        folder=folder,
        loose=loose,
        kind=kind,
        suffixes=suffixes,
    )


def _paths(known: Iterable[str], claims: WordClaims) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return the files, the folder and the choices that paths in a request name."""
    files: list[str] = []
    folder, choices = "", tuple[str, ...]()
    folders = {one.rstrip("/") for one in known if one.endswith("/")}
    for place, token in enumerate(claims.request.tokens):
        quoted = token.kind == "quoted" and any(token.text in (one, posixpath.basename(one)) for one in known)
        if (token.kind != "path" and not quoted) or "@" in token.text or "*" in token.text:
            continue
        path = token.text.removeprefix("./").removeprefix("/workspace/")
        claims.claim_places((place,))
        before = claims.request.tokens[place - 1].lower if place else ""
        beside = {one.lower for one in claims.request.tokens[max(0, place - 1) : place + 2]}
        has_ending = "." in posixpath.basename(path) or path in known
        if (
            path.endswith("/")
            or path.rstrip("/") in folders
            or path in ("~", "/workspace")
            or (not has_ending and (before in _INTO or not beside.isdisjoint(_FOLDERS)))
        ):
            folder = path.rstrip("/") or "."
            continue
        same = [one for one in known if one == path] or [
            one for one in known if one.lower() == path.lower() or one.lower().endswith(f"/{path.lower()}")
        ]
        if len(same) > 1:
            choices = tuple(same)
        else:
            files.append(same[0] if same else path)
    return tuple(files), folder, choices


def _kind(claims: WordClaims, known: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the kind of file that a request speaks of, such as `Python` or `.rst`, and its endings."""
    tokens = claims.request.tokens
    kind, suffixes, beside = "", list[str](), set[int]()
    folders = {posixpath.basename(one.rstrip("/")) for one in known if one.endswith("/")}
    for place, token in enumerate(tokens):
        behind = tokens[place + 1].lower if place + 1 < len(tokens) else ""
        if token.kind == "path" and token.text.startswith("*."):
            kind, suffixes = token.text[1:], [*suffixes, token.text[1:]]
            beside.add(place)
        elif token.kind == "mark" and token.text == "." and behind.isalnum() and tokens[place + 1].start == token.end:
            if place and tokens[place - 1].end == token.start:
                continue
            kind, suffixes = f".{behind}", [*suffixes, f".{behind}"]
            beside.update((place, place + 1))
        elif token.kind == "word" and place not in claims.places | beside:
            named = _KIND_WORDS.get(singular(token.lower))
            ending = f".{token.lower}"
            is_file = singular(behind) in _NOUNS
            in_folder = token.lower in folders and place > 0 and tokens[place - 1].lower in _INTO
            if named and not is_file and (named in ("log", "text") or behind in _FOLDERS or in_folder):
                continue
            if named:
                kind = kind or named
                suffixes += KINDS[named]
                beside.add(place)
            elif any(ending in endings for endings in KINDS.values()) and (is_file or suffixes):
                kind = kind or ending
                suffixes.append(ending)
                beside.add(place)
    claims.claim_places(beside)
    return kind, tuple(dict.fromkeys(suffixes))


def _folder(known: tuple[str, ...], claims: WordClaims, *, bare: bool) -> tuple[str, bool]:
    """Return the folder that words of a request name, and whether a mere word names it."""
    if claims.find("home") and claims.request.has("my", "home folder", "home directory"):
        claims.claim("home", "folder")
        return "~", False
    tokens = claims.request.tokens
    folders = [one.rstrip("/") for one in known if one.endswith("/")]
    for place, token in enumerate(tokens):
        if token.kind not in ("word", "quoted") or place in claims.places or token.lower in (*_FOLDERS, *_NOUNS):
            continue
        before = [one.lower for one in tokens[max(0, place - 3) : place] if one.lower not in ("the", "our", "my", "a")]
        behind = tokens[place + 1].lower if place + 1 < len(tokens) else ""
        fitting = [one for one in folders if _is_same(posixpath.basename(one), token.lower)]
        beside = behind in _FOLDERS or (
            before[-1:] and before[-1] in (*_FOLDERS, "called", "named") and any(one in _FOLDERS for one in before)
        )
        inside = bool(before) and before[-1] in _INTO
        placed = inside and claims.find("file") and not claims.find("search_plain")
        if not fitting and (beside or placed) and not claims.is_functional(place):
            fitting = [token.text] if not known or len(known) >= MAX_KNOWN else []
        if fitting and (beside or inside or (bare and not token.is_stop)):
            claims.claim_places((place,))
            if beside:
                claims.claim("folder")
            return min(fitting, key=len), not (beside or inside)
    return "", False


def _is_same(name: str, word: str) -> bool:
    return name.lower().removesuffix("s") == word.removesuffix("s")


def _named_by_words(known: tuple[str, ...], claims: WordClaims, folder: str) -> tuple[str, ...]:
    """Return the files all words of whose name stand side by side in the request."""
    tokens = claims.request.tokens
    split = [(part, at) for at, one in enumerate(tokens) for part in _parts(one)]
    words, token_of = [one for one, _ in split], [at for _, at in split]
    best: dict[str, set[int]] = {}
    for path in known:
        base = posixpath.basename(path)
        parts = tuple(singular(one) for one in name_words(posixpath.splitext(base)[0]))
        if path.endswith("/") or not parts or all(one in stop_words() or len(one) < 3 for one in parts):
            continue
        if folder not in ("", "~", ".") and not path.startswith(f"{folder}/"):
            continue
        for at in range(len(words) - len(parts) + 1):
            here = set(range(at, at + len(parts)))
            if tuple(words[at : at + len(parts)]) == parts and not claims.places & {token_of[one] for one in here}:
                around = {singular(one) for one in name_words(posixpath.dirname(path))} | _PAPERS
                around |= {posixpath.splitext(base)[1].lstrip(".").lower()}
                for near in (at - 1, at + len(parts)):
                    if 0 <= near < len(words) and words[near] in around:
                        here.add(near)
                best[path] = here
                break
    most = max((len(_own(path, here, words)) for path, here in best.items()), default=0)
    fitting = tuple(path for path, here in best.items() if len(_own(path, here, words)) == most)
    for path in fitting:
        claims.claim_places(token_of[one] for one in best[path])
    return fitting


def _parts(token: Token) -> tuple[str, ...]:
    """Return the words of a token; `get-in` has two."""
    return tuple(singular(one) for one in token.lower.split("-")) if token.kind == "word" else ("",)


def _own(path: str, places: set[int], words: list[str]) -> set[int]:
    """Return the places whose words stand in the path itself."""
    inside = {singular(one) for one in name_words(path)}
    return {one for one in places if words[one] in inside}
