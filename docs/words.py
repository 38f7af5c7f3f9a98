"""`make words`: print every sentence that a person or a model can read, by area, for one sitting.

Sentences come from the source itself: error messages, hints, help texts, descriptions and labels in Python, and texts
in the console's JavaScript. Docstrings count only where they are shown, as the help of commands.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "doorward"
_SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|WITH|FROM|WHERE|AND|OR|ORDER|GROUP|VALUES|ON|SET|JOIN"
    r"|LIMIT|BEGIN|COMMIT|ATTACH|CASE|UNION|EXISTS|NOT)\b[ (]"
)
_WORDS = re.compile(r"[A-Za-z][a-z'’]+(?:[ ,.;:]+[A-Za-z`'\"{(…][\w'’`\"{}()…/.-]*){2,}")
_JS_TEXT = re.compile(r"'([^'\\\n]*(?:\\.[^'\\\n]*)*)'|\"([^\"\\\n]*(?:\\.[^\"\\\n]*)*)\"|>([^<>$`{}\n]+)<")
_SHOWN_BY = ("command", "group", "builtin", "option")
_HIDDEN = ("agents/house",)
"""The house model's own data of phrases, which are examples and patterns rather than texts for people."""


def main() -> None:
    wanted = sys.argv[1:]
    areas: dict[str, list[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE)
        if path.as_posix().startswith(_HIDDEN):
            continue
        for line, sentence in python_sentences(ast.parse(file.read_text())):
            areas.setdefault(str(path.parent), []).append(f"{path.name}:{line}  {sentence}")
    for file in sorted((SOURCE / "doors" / "console").rglob("*.js")):
        if "vendor" not in file.parts:
            area = str(file.relative_to(SOURCE).parent)
            for line, sentence in script_sentences(file.read_text()):
                areas.setdefault(area, []).append(f"{file.name}:{line}  {sentence}")
    for area, sentences in areas.items():
        if not wanted or area.startswith(tuple(wanted)):
            print(f"\n## {area}\n")
            print("\n".join(sentences))


def python_sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module that reads like a sentence, with its line."""
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and not _is_shown(node)
    }
    bare = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)} - {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _is_shown(node)
    }
    parts = {
        value
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for value in node.values
        if isinstance(value, ast.Constant)
    }
    for node in ast.walk(tree):
        if node in docstrings or node in bare or node in parts:
            continue
        text = _text(node)
        if text and not _SQL.match(text) and _WORDS.search(text):
            yield node.lineno, " ".join(text.split())


def _is_shown(node: ast.AST) -> bool:
    """Whether the docstring of a function is shown as help."""
    return any(
        isinstance(decorator, ast.Call) and ast.unparse(decorator.func).rpartition(".")[2] in _SHOWN_BY
        for decorator in getattr(node, "decorator_list", ())
    )


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    return ""


def script_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The quoted texts and text nodes of a script that read like words for people."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "*", "/*", "import ")):
            continue
        for match in _JS_TEXT.finditer(line):
            found = next(part for part in match.groups() if part is not None).strip()
            if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}|^[A-Z][a-z]{2,}[.…!?]?$", found):
                yield number, found


if __name__ == "__main__":
    main()
