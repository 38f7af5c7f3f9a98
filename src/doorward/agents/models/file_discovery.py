"""Find GGUF files in the folders where programs usually keep them. The walk is bounded."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from doorward.agents.models.gguf_header import BadGguf, GgufHeader, read_header
from doorward.core import strictjson

_FOLDERS = (
    ".cache/huggingface/hub",
    ".cache/llama.cpp",
    ".cache/lm-studio/models",
    ".lmstudio/models",
    ".local/share/doorward/models",
    ".cache/doorward-models",
    "models",
)
_OLLAMA = ".ollama/models"
_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LATER_PART = re.compile(r"-(?!0*1-of-)\d{5}-of-\d{5}\.gguf$")
_PART = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")
_MAX_DEPTH = 6
_MAX_ENTRIES = 20_000
_MAX_FILES = 200
_MAX_MANIFEST = 100_000


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    header: GgufHeader
    title: str
    """Its name for people: that of the file or, for a file of Ollama, of the model."""
    bytes: int
    """The size of all its parts."""


class FoundFiles(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[FoundFile, ...] = ()
    complete: bool = True
    """False if a limit ended the search."""


def list_folders(account: Path, *own: Path) -> list[Path]:
    """Return the folders in which models are searched, for an account with this home folder."""
    return [*own, *(account / folder for folder in _FOLDERS)]


def find_files(account: Path, *own: Path, seconds: float = 5.0) -> FoundFiles:
    """Find the files in the usual folders of an account and in its `own` ones. This call blocks."""
    walk = _Walk(time.monotonic() + seconds)
    found: dict[tuple[int, int], FoundFile] = {}
    for path, title in walk.candidates(list_folders(account, *own), account / _OLLAMA):
        try:
            facts = path.stat()
            if (facts.st_dev, facts.st_ino) in found:
                continue
            header = read_header(path)
        except (OSError, ValueError, BadGguf):
            continue
        if header.answers:
            found[facts.st_dev, facts.st_ino] = FoundFile(
                path=path, header=header, title=title, bytes=count_bytes(path)
            )
        if len(found) >= _MAX_FILES:
            walk.complete = False
            break
    return FoundFiles(files=tuple(found.values()), complete=walk.complete)


def count_candidates(seconds: float) -> int:
    """Count the files that look like models by their names, without reading them. This call blocks."""
    account = Path.home()
    candidates = _Walk(time.monotonic() + seconds).candidates(list_folders(account), account / _OLLAMA)
    return sum(1 for _ in itertools.islice(candidates, _MAX_FILES))


def count_bytes(path: Path) -> int:
    """Return the size of a model in bytes: of its file, and of the further files if it is split."""
    parts = _PART.search(path.name)
    if parts is None:
        return path.stat().st_size
    total = 0
    for number in range(1, min(int(parts[1]), 1_000) + 1):
        try:
            total += (path.parent / _PART.sub(f"-{number:05d}-of-{parts[1]}.gguf", path.name)).stat().st_size
        except OSError:
            continue
    return total


class _Walk:
    def __init__(self, end: float) -> None:
        self._end = end
        self._left = _MAX_ENTRIES
        self.complete = True

    def candidates(self, folders: list[Path], ollama: Path) -> Iterator[tuple[Path, str]]:
        for folder in folders:
            for path in self._files(folder, 0):
                if path.name.lower().endswith(".gguf") and not _LATER_PART.search(path.name.lower()):
                    yield path, path.name
        for path in self._files(ollama / "manifests", 0):
            if (digest := _read_manifest(path)) is not None:
                *_, model, tag = path.parts
                yield ollama / "blobs" / digest.replace(":", "-"), f"{model}:{tag} of Ollama"

    def _files(self, folder: Path, depth: int) -> Iterator[Path]:
        """The files beneath a folder. Links to folders are not followed."""
        try:
            entries = os.scandir(folder)
        except OSError:
            return
        folders = []
        with entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0 or time.monotonic() > self._end:
                    self.complete = False
                    return
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(folder / entry.name)
                        continue
                except OSError:
                    continue
                yield folder / entry.name
        if depth < _MAX_DEPTH:
            for one in folders:
                yield from self._files(one, depth + 1)


def _read_manifest(path: Path) -> str | None:
    """Return the digest of the model in a manifest of Ollama; None if there is none."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as opened:
            value = strictjson.loads(opened.read(_MAX_MANIFEST))
    except (OSError, strictjson.NotJson):
        return None
    layers = value.get("layers") if isinstance(value, Mapping) else None
    for one in layers if isinstance(layers, list) else ():
        digest = one.get("digest") if isinstance(one, Mapping) and one.get("mediaType") == _OLLAMA_MODEL else None
        if isinstance(digest, str) and _DIGEST.fullmatch(digest):
            return digest
    return None
