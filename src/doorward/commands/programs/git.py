"""Runs git without letting a repository's configuration start other programs.

Git's configuration can start programs in some fifty ways, and every version adds more. So the harmless keys are listed
here, and git does not run in a repository that has any other key.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from doorward.core.errors import CommandFailed, NotFound
from doorward.sandbox.safefs import SafeRoot

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


def parse_keys(text: bytes) -> Iterator[str]:
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
            section, rest = _section_name(header), rest[header.end() :].strip()
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


def _section_name(header: re.Match[str]) -> str:
    name = header["section"].lower()
    sub = header["sub"]
    return name if sub is None else f"{name}.{sub}"


PROGRAM = "git"
_LARGEST_CONFIG = 1_000_000
_NOWHERE = "/nonexistent"

_OVERRIDES = {
    "safe.directory": "*",
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "sequence.editor": "false",
    "credential.helper": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "init.templateDir": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "advice.detachedHead": "false",
    "init.defaultBranch": "main",
}
"""These override the repository's configuration."""

_ENVIRONMENT = {
    "PATH": _NOWHERE,
    "GIT_EXEC_PATH": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_AUTHOR_NAME": "Doorward",
    "GIT_AUTHOR_EMAIL": "doorward@localhost",
    "GIT_COMMITTER_NAME": "Doorward",
    "GIT_COMMITTER_EMAIL": "doorward@localhost",
}


def check_repository(workspace: Path, folder: str, caller: str, *, makes_one: bool) -> dict[str, str]:
    """Check the repository of a folder, and return the environment for git there. This call blocks.

    Without a repository, only `git init` can run (`makes_one`).
    """
    with SafeRoot(workspace) as root:
        found = _find_repository(root, folder)
        if found is not None:
            _check_config(root, found)
    if found is None and not makes_one:
        raise NotFound(
            f"There is no git repository at {folder!r} or above it in the workspace. Create one with shell/git_init."
        )
    environment = {**_ENVIRONMENT, "GIT_AUTHOR_NAME": caller, "GIT_CONFIG_COUNT": str(len(_OVERRIDES))}
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    if found is not None and not makes_one:
        # Set explicitly, so that git uses the repository that was checked and does not search for another.
        tree = posixpath.relpath(found, folder)
        environment["GIT_DIR"] = f"{tree}/.git"
        environment["GIT_WORK_TREE"] = tree
    return environment


def _find_repository(root: SafeRoot, folder: str) -> str | None:
    """The nearest folder with a repository, from `folder` up to the workspace."""
    place = folder
    while True:
        try:
            kind = root.stat(_join(place, ".git")).kind
        except NotFound:
            if place == ".":
                return None
            place = posixpath.dirname(place) or "."
            continue
        if kind != "folder":
            raise CommandFailed(
                f"{_join(place, '.git')} is a {kind} and leads elsewhere. git runs only in a repository whose .git is"
                " a folder in the workspace."
            )
        return place


def _check_config(root: SafeRoot, place: str) -> None:
    git = _join(place, ".git")
    if _has(root, f"{git}/commondir"):
        raise CommandFailed(f"{git}/commondir leads to another repository. Use a separate repository.")
    for name in ("config", "config.worktree"):
        file = f"{git}/{name}"
        content = root.read_existing(file, _LARGEST_CONFIG)
        if content is None:
            continue
        try:
            strange = [key for key in parse_keys(content.data) if not is_harmless(key)]
        except ValueError as error:
            raise CommandFailed(f"{file} cannot be parsed reliably, so git is not run: {error}.") from error
        if strange:
            raise CommandFailed(
                f"The repository's configuration has {', '.join(strange[:5])}, which may start programs or lead"
                f" elsewhere, so git is not run. Remove it from {file}.",
            )


def _has(root: SafeRoot, path: str) -> bool:
    try:
        root.stat(path)
    except NotFound:
        return False
    return True


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
