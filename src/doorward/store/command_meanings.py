"""Commands by what they mean: each as a vector, made of the vectors of its words, which a package brings along.

The package is wordllama, the extra `vectors`. Its weights and its list of words are read from its own files, with no
code of it and no network. Nothing of this is imported before somebody asks, and where it is not installed there is
just the search by words.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doorward.command import Command
from doorward.store.command_texts import spelt, texts

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_WORDS = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_NEAR = 0.35
"""From which likeness on, of at most 1, a command counts as near without a word in common."""
_LONGEST = 2_000
"""How many characters of a text count for its meaning."""


class _Model(NamedTuple):
    numpy: Any
    weights: Any
    tokens: Any


def installed() -> bool:
    """Whether vectors can be had; nothing is imported for the answer."""
    folder = _folder()
    return folder is not None and (folder / _WEIGHTS).is_file() and (folder / _WORDS).is_file()


class CommandMeanings:
    """The vectors of commands by their names. Its owner sees to it that one thread at a time uses it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._known: dict[str, tuple[Command, Any]] = {}
        self._vectors: Any = None

    def follow(self, commands: Iterable[Command]) -> None:
        """Have a vector for each of these commands, and for no other."""
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
        """The commands that are near enough in meaning to count by that alone and those in `beside`, nearest first."""
        if self._vectors is None:
            return
        numpy = _model().numpy
        (asked,) = _vectors([spelt(query)[:_LONGEST]])
        likeness = numpy.einsum("ij,j->i", self._vectors, asked)  # `@` would wake a thread for each core, and wait
        counts = likeness >= _NEAR
        counts[[self._places[name] for name in beside if name in self._places]] = True
        some = numpy.flatnonzero(counts)
        for place in some[numpy.argsort(-likeness[some], kind="stable")].tolist():
            yield self._names[place]


def _meant(command: Command) -> str:
    return " ".join(texts(command))[:_LONGEST]


def _vectors(of: Sequence[str]) -> list[Any]:
    """The mean of the vectors of a text's words, of length one."""
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
