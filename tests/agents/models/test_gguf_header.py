"""What GGUF files say of themselves: real ones, damaged ones, and ones made to hurt the reader."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import gguf
import pytest
import tiny_gguf

from doorward.agents.models.file_discovery import count_bytes, find_files
from doorward.agents.models.gguf_header import BadGguf, read_header


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.write(tmp_path_factory.mktemp("models") / "tiny.gguf")


def head(tensors: int = 0, entries: int = 0, rest: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries) + rest


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def labelled(file: Path, **values: str) -> Path:
    made = gguf.GGUFWriter(file, values.pop("architecture", "llama"))
    made.add_context_length(32_768)
    for key, value in values.items():
        made.add_string(f"general.{key}", value)
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.close()
    return file


def test_a_header_tells_the_name_the_context_and_the_number_of_weights(tiny: Path, tmp_path: Path) -> None:
    found = read_header(tiny)
    assert (found.architecture, found.context, found.bytes) == ("llama", 65_536, tiny.stat().st_size)
    with_weights = gguf.GGUFReader(tiny)
    assert found.parameters == sum(int(one.n_elements) for one in with_weights.tensors)
    named = read_header(labelled(tmp_path / "named.gguf", name="Qwen ünd", size_label="8x7B"))
    assert (named.name, named.parameters, named.context) == ("Qwen ünd", 56_000_000_000, 32_768)
    assert not read_header(labelled(tmp_path / "clip.gguf", architecture="clip")).answers


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "letters GGUF"),
        (b"GGU", "letters GGUF"),
        (b"#!/bin/sh\nexit 0\n", "letters GGUF"),
        (b"GGUF", "longer than the file"),
        (head(version=1), "version 1"),
        (head(version=0x03000000), "version 50331648"),
        (head(entries=2**63), "more entries"),
        (head(tensors=2**63), "more entries"),
        (head(entries=1, rest=struct.pack("<Q", 2**63)), "longer than the file"),
        (head(entries=1, rest=text("a") + struct.pack("<I", 99)), "unknown kind"),
        (head(entries=1, rest=text("a") + struct.pack("<IIQ", 9, 8, 2**62)), "longer than the file"),
        (head(entries=1, rest=text("a") + struct.pack("<IIQ", 9, 0, 2**62)), "longer than the file"),
        (head(entries=1, rest=text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 50), "unknown kind"),
        (head(tensors=1, rest=text("t") + struct.pack("<I", 2**31)), "too many dimensions"),
    ],
)
def test_a_hostile_header_is_refused_in_words(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "bad.gguf"
    file.write_bytes(content)
    with pytest.raises(BadGguf, match=why):
        read_header(file)


def test_random_damage_never_breaks_the_reader(tiny: Path, tmp_path: Path) -> None:
    chance, whole, file = random.Random(5), tiny.read_bytes()[:12_000], tmp_path / "damaged.gguf"
    for _ in range(400):
        damaged = bytearray(whole[: chance.choice([chance.randrange(len(whole)), len(whole)])])
        for _ in range(chance.randrange(8)):
            if damaged:
                damaged[chance.randrange(min(len(damaged), chance.choice([40, 300, len(damaged)])))] = chance.choice(
                    [0, 1, 8, 9, 255, chance.randrange(256)]
                )
        file.write_bytes(damaged)
        try:
            found = read_header(file)
        except BadGguf:
            continue
        assert 0 <= found.parameters < 2**53
        assert 0 <= found.context < 2**53


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for name, why in (("pipe.gguf", "regular file"), ("gone.gguf", "No such file"), ("\x00", "path is not valid")):
        with pytest.raises(BadGguf, match=why):
            read_header(tmp_path / name)


def test_files_are_found_in_the_usual_folders_once_each(tiny: Path, tmp_path: Path) -> None:
    content = tiny.read_bytes()
    hub = tmp_path / ".cache/huggingface/hub/models--a--b"
    (hub / "blobs").mkdir(parents=True)
    (hub / "snapshots/1").mkdir(parents=True)
    (hub / "blobs/abc").write_bytes(content)
    (hub / "snapshots/1/b.gguf").symlink_to("../../blobs/abc")
    models = tmp_path / "models"
    models.mkdir()
    for number in (1, 2):
        (models / f"split-0000{number}-of-00002.gguf").write_bytes(content)
    (models / "notes.gguf").write_text("not a model")
    (models / "again").symlink_to(models)
    os.mkfifo(models / "pipe.gguf")
    digest = "1" * 64
    ollama = tmp_path / ".ollama/models"
    (ollama / "blobs").mkdir(parents=True)
    (ollama / "blobs" / f"sha256-{digest}").write_bytes(content)
    manifests = ollama / "manifests/registry.ollama.ai/library/qwen3"
    manifests.mkdir(parents=True)
    layer = f'{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{digest}"}}'
    (manifests / "4b").write_text(f'{{"layers": [{layer}]}}')
    (manifests / "evil").write_text('{"layers": [{"digest": "sha256:../../../../models/x"}, 5]}')
    found = find_files(tmp_path)
    assert found.complete
    titles = {one.title: one for one in found.files}
    assert titles.keys() == {"b.gguf", "split-00001-of-00002.gguf", "qwen3:4b of Ollama"}
    assert titles["split-00001-of-00002.gguf"].bytes == 2 * len(content)
    assert count_bytes(models / "notes.gguf") == len("not a model")


def test_a_search_ends_when_there_is_too_much_to_search(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for number in range(3):
        (tmp_path / "models" / f"{number}.gguf").write_bytes(head())
    assert not find_files(tmp_path, seconds=0).complete
