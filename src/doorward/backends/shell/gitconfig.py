"""A strict parser for a repository's configuration file: it finds every key that git would see, or raises an error.

Git's configuration can start programs in some fifty ways, and every version adds more. So the harmless keys are listed
here, and git does not run in a repository that has any other key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(r'\[\s*(?P<section>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(?P<value>.*))?")

_WHOLE_SECTIONS = frozenset(
    {"advice", "author", "blame", "color", "column", "committer", "gc", "gui", "i18n", "index", "lfs", "pack", "status"}
)
"""Sections without any key, in any version, that starts a program or leads elsewhere."""

_KEYS = {
    "apply": "ignorewhitespace whitespace",
    "branch": "autosetupmerge autosetuprebase description gh-merge-base merge mergeoptions pushremote rebase remote"
    " sort vscode-merge-base github-pr-owner-number",
    "checkout": "defaultremote guess workers thresholdforparallelism",
    "clean": "requireforce",
    "commit": "cleanup gpgsign status verbose",
    "commitgraph": "generationversion maxnewfilters readchangedpaths",
    "core": "abbrev attributesfile autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar"
    " commentstring commitgraph compression deltabasecachelimit eol excludesfile filemode fscache hidedotfiles"
    " ignorecase ignorestat logallrefupdates longpaths loosecompression multipackindex packedgitlimit"
    " packedgitwindowsize packedrefstimeout precomposeunicode preferSymlinkRefs preloadindex protecthfs protectntfs"
    " quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout"
    " sparsecheckoutcone splitindex symlinks trustctime untrackedcache warnambiguousrefs whitespace",
    "diff": "algorithm autorefreshindex colormoved colormovedws context dirstat ignoresubmodules indentheuristic"
    " interhunkcontext mnemonicprefix noprefix relative renamelimit renames statgraphwidth statnamewidth submodule"
    " suppressblankempty wordregex wserrorhighlight xfuncname",
    "extensions": "noop objectformat preciousobjects refstorage worktreeconfig",
    "feature": "experimental manyfiles",
    "fetch": "all parallel prune prunetags showforcedupdates writecommitgraph",
    "format": "pretty",
    "grep": "column extendedregexp fallbacktonoindex fullname linenumber patterntype threads",
    "init": "defaultbranch",
    "log": "abbrevcommit date decorate excludedecoration follow graphcolors mailmap showroot",
    "maintenance": "auto strategy",
    "merge": "conflictstyle ff log renamelimit renames stat suppressdest",
    "notes": "displayref rewritemode rewriteref",
    "pull": "ff octopus rebase twohead",
    "push": "autosetupremote default followtags recursesubmodules",
    "rebase": "abbreviatecommands autosquash autostash stat updaterefs",
    "receive": "denycurrentbranch denydeletes denynonfastforwards",
    "remote": "fetch followremotehead gh-resolved mirror prune prunetags push pushurl skipdefaultupdate skipfetchall"
    " tagopt url",
    "remotes": "default",
    "rerere": "autoupdate enabled",
    "showbranch": "default",
    "stash": "showincludeuntracked showpatch showstat",
    "submodule": "active branch fetchjobs fetchrecursesubmodules ignore path propagatebranches shallow url",
    "tag": "gpgsign sort",
    "transfer": "fsckobjects",
    "user": "email name signingkey useconfigonly",
}
_HARMLESS = {section: frozenset(keys.lower().split()) for section, keys in _KEYS.items()}


def keys(text: bytes) -> Iterator[str]:
    """Yield every `section.subsection.key` of the file. Raise ValueError for a line that git might read differently."""
    try:
        lines = text.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8 text") from error
    section = ""
    for number, line in enumerate(lines, 1):
        if any(ord(letter) < 32 and letter != "\t" for letter in line):
            raise ValueError(f"line {number} contains a control character")
        rest = line.strip()
        while header := _HEADER.match(rest):
            section, rest = _section(header), rest[header.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        found = _KEY.fullmatch(rest)
        if found is None or not section:
            raise ValueError(f"line {number} is not understood")
        if rest.endswith("\\"):
            raise ValueError(f"line {number} continues on the next line, which is not supported")
        yield f"{section}.{found['key'].lower()}"


def is_harmless(key: str) -> bool:
    """Whether a key is known not to start a program or lead elsewhere."""
    section, _, rest = key.partition(".")
    last = rest.rpartition(".")[2]
    return section in _WHOLE_SECTIONS or last in _HARMLESS.get(section, frozenset())


def _section(header: re.Match[str]) -> str:
    name = header["section"].lower()
    sub = header["sub"]
    return name if sub is None else f"{name}.{sub}"
