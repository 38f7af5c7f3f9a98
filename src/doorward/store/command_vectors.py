"""Command vectors for search by meaning: each is the mean of the word vectors of the package wordllama.

The package is the optional extra `vectors`. Its weights and tokenizer are read from its files; its code does not run
and no network is used. Nothing is imported before the first search. If it is not installed, search uses words only.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doorward.core.command import Command
from doorward.store.command_texts import spellings, texts

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_WORDS = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_NEAR = 0.35
"""Minimum similarity (at most 1) at which a command matches without a common word."""
_LONGEST = 2_000
"""The number of characters of a text that are used for its vector."""


class _Model(NamedTuple):
    numpy: Any
    weights: Any
    tokens: Any


def is_installed() -> bool:
    """Whether the vectors are installed. Imports nothing."""
    folder = _folder()
    return folder is not None and (folder / _WEIGHTS).is_file() and (folder / _WORDS).is_file()


class CommandVectors:
    """The vectors of commands by name. Not thread-safe: the owner must lock it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._known: dict[str, tuple[Command, Any]] = {}
        self._vectors: Any = None

    def follow(self, commands: Iterable[Command]) -> None:
        """Compute the vectors of exactly these commands; reuse those of unchanged commands."""
        current = list(commands)
        known = self._known
        new = [one for one in current if one.name not in known or known[one.name][0] is not one]
        made = {
            one.name: (one, vector) for one, vector in zip(new, _vectors([_meant(one) for one in new]), strict=True)
        }
        self._known = {one.name: made.get(one.name) or known[one.name] for one in current}
        self._names = list(self._known)
        self._places = {name: place for place, name in enumerate(self._names)}
        vectors = [vector for _, vector in self._known.values()]
        self._vectors = _model().numpy.stack(vectors) if vectors else None

    def near(self, query: str, beside: Iterable[str]) -> Iterator[str]:
        """The commands that are close enough in meaning, and those in `beside`, closest first."""
        if self._vectors is None:
            return
        numpy = _model().numpy
        (asked,) = _vectors([spellings(query)[:_LONGEST]])
        likeness = numpy.einsum("ij,j->i", self._vectors, asked)  # `@` would start a thread per core and wait
        counts = likeness >= _NEAR
        counts[[self._places[name] for name in beside if name in self._places]] = True
        some = numpy.flatnonzero(counts)
        for place in some[numpy.argsort(-likeness[some], kind="stable")].tolist():
            yield self._names[place]


def _meant(command: Command) -> str:
    return " ".join(texts(command))[:_LONGEST]


def _vectors(of: Sequence[str]) -> list[Any]:
    """The mean of each text's word vectors, normalized to length one."""
    numpy, weights, tokens = _model()
    found = []
    for text in tokens.encode_batch(list(of), add_special_tokens=False):
        rows = weights[text.ids] if text.ids else numpy.zeros((1, weights.shape[1]))
        vector = rows.astype("float32").mean(axis=0)
        found.append(vector / max(float(numpy.linalg.norm(vector)), 1e-9))
    return found


@functools.cache
def _model() -> _Model:
    folder = _folder()
    if folder is None:
        raise RuntimeError(f"{_PACKAGE} is not installed")
    weights = importlib.import_module("safetensors.numpy").load_file(folder / _WEIGHTS)[_TENSOR]
    tokens = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / _WORDS))
    tokens.no_padding()
    tokens.no_truncation()
    return _Model(importlib.import_module("numpy"), weights, tokens)


def _folder() -> Path | None:
    found = importlib.util.find_spec(_PACKAGE)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None
