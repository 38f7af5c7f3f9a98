"""Globs for paths in parameter rules (R2.4)."""

from __future__ import annotations

import pytest

from doorward.gate.recipes.globs import compile_glob


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "src/deep/er/a.py"),
        ("src/**", "./src//deep/./a.py"),
        ("src/**", "src/deep/"),
        ("./src/**", "src/a.py"),
        ("*.md", "README.md"),
        ("*.md", "./README.md"),
        ("*.md", ".md"),
        ("**/*.md", "README.md"),
        ("**/*.md", "docs/deep/a.md"),
        ("docs/**/*.md", "docs/a.md"),
        ("docs/**/x/*.md", "docs/1/2/x/a.md"),
        ("**", "anything/at/all"),
        ("*", "name"),
        ("a?c", "abc"),
        ("a?c", "aüc"),
        ("a+b(1).txt", "a+b(1).txt"),
        (".", "."),
        (".", ""),
        ("/srv/**", "/srv/a"),
        ("/**", "/srv/a"),
        ("*\n*", "a\nb"),
    ],
)
def test_a_glob_matches(glob: str, path: str) -> None:
    assert compile_glob(glob)(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/**", "src"),
        ("src/**", "src/"),
        ("src/**", "src-evil/a.py"),
        ("src/**", "other/src/a.py"),
        ("src/**", "src/../secret"),
        ("src/**", "src/x/../a.py"),
        ("**", "../a"),
        ("**", ".."),
        ("**", "a/.."),
        ("**", "."),
        ("**", ""),
        ("**", "/etc/passwd"),
        ("**/passwd", "/etc/passwd"),
        ("*", "."),
        ("*", "/"),
        (".", "/"),
        (".", "a"),
        ("*.md", "docs/a.md"),
        ("*.md", "a.mdx"),
        ("*.md", "a.md\n"),
        ("*.md", "a.MD"),
        ("a?c", "a/c"),
        ("a?c", "ac"),
        ("a.c", "abc"),
        ("/srv/**", "srv/a"),
        ("/srv/**", "/srv"),
        ("**", "a\x00b"),
        ("**", "a\ud800"),
    ],
)
def test_a_glob_does_not_match(glob: str, path: str) -> None:
    assert not compile_glob(glob)(path)


@pytest.mark.parametrize("glob", ["[ab]", "{a,b}", "a\\b", "../a", "a/..", "a**", "**a/b", "***", "a\x00"])
def test_a_glob_that_promises_what_it_cannot_do_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match=r"glob|stand alone"):
        compile_glob(glob)


def test_a_glob_of_many_stars_judges_a_long_path_at_once() -> None:
    assert not compile_glob("*a" * 200)("a" * 100_000 + "b")
