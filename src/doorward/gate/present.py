"""Results as models read them."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.command import Blocks
from doorward.errors import DoorwardError

NO_OUTPUT = "Result: no output"
"""Where there is nothing to read, and nothing went wrong."""
_encode = msgspec.json.Encoder().encode


def as_text(result: Any, *, thought: bool = False) -> str:
    """Lists as numbered lines, what programs wrote and servers gave as it is, everything else as one indented value.

    `thought` says that it is the keeper's answer, which cannot be told by its look: anybody's record may look like it.
    """
    if thought:
        return in_few_words(result)
    if isinstance(result, dict) and isinstance(result.get("items"), list):
        items = result["items"]
        lines = [f"Found {len(items)} items:"]
        lines += [f"{number}. {_line(item)}" for number, item in enumerate(items, 1)]
        rest = {key: value for key, value in result.items() if key != "items" and value not in (None, "", [])}
        if rest:
            lines.append(f"({_line(rest)})")
        return "\n".join(lines)
    if type(result) is Blocks:
        return in_words(result) or NO_OUTPUT
    if isinstance(result, str):
        return f"Result: {result}" if result else NO_OUTPUT
    if is_programs(result):
        stdout, beside = result["stdout"].rstrip("\n"), _beside_stdout(result)
        return "\n".join([f"Result: {stdout}", *beside]) if stdout or beside else NO_OUTPUT
    return f"Result: {msgspec.json.format(_encode(result), indent=2).decode()}"


def as_blocks(result: Any) -> Blocks | None:
    """A result in blocks, also where it has come over a wire as plain values; None for any other result."""
    if type(result) is Blocks:
        return result
    if not isinstance(result, dict) or not {"content"} <= result.keys() <= {"content", "structuredContent"}:
        return None
    content = result["content"]
    if not isinstance(content, list) or not all(isinstance(one, dict) and "type" in one for one in content):
        return None
    return Blocks(content=content, structured_content=result.get("structuredContent"))


def in_words(blocks: Blocks) -> str:
    """Texts as they are; of everything else, what it is."""
    lines = [_block(block) for block in blocks.content]
    if not lines and blocks.structured_content is not None:
        lines.append(msgspec.json.format(_encode(blocks.structured_content), indent=2).decode())
    return "\n".join(lines)


def failure(error: DoorwardError, *, thought: bool = False) -> str:
    """The sentence and, when a program ended badly, what it wrote all the same; of the keeper, what it did."""
    lines = [f"Command failed: {error.message}"]
    if is_programs(error.result):
        if error.result["stdout"]:
            lines.append(f"stdout: {error.result['stdout']}".rstrip("\n"))
        lines += _beside_stdout(error.result)
    elif thought and error.result is not None:
        lines.append(in_few_words(error.result))
    elif type(error.result) is Blocks and (words := in_words(error.result)) not in error.message:
        lines.append(words)
    return "\n".join(lines)


def note(error: DoorwardError | None, result: Any, *, thought: bool = False) -> str:
    """An end as it is recorded: a failure in words, and of the keeper what it thought with.

    What a program wrote is in no record, and the sentence beside it may quote it.
    """
    if error is None:
        return thought_with(result) if thought else ""
    if error.result is None:
        return error.message
    if not is_programs(error.result):
        said = f"{thought_with(error.result)} " if thought else ""
        return f"{said}Its result, which is not recorded, says more."
    code = error.result["exitCode"]
    return f"A program ended with exit code {code}." if code is not None else "A program was stopped."


def thought_with(answer: dict[str, Any]) -> str:
    """What is recorded of the keeper's answer, of which nothing else is: which model thought, and to what end."""
    if not answer["turns"]:
        return f"No model was asked ({answer['ended']})."
    return f"The keeper thought with {answer['model']} ({answer['ended']})."


def is_programs(result: Any) -> bool:
    """Whether this is how a program ended, as commands that run one give it."""
    return isinstance(result, dict) and "exitCode" in result and isinstance(result.get("stdout"), str)


def in_few_words(answer: dict[str, Any]) -> str:
    """The keeper's answer and, in a line each, what it did for that; what came of each is beside it for programs."""
    lines = [answer["response"]]
    for call in answer["toolCalls"]:
        what = call["input"].get("command") or call["input"].get("path", "")
        lines.append(f"[{call['name']} {_line(what)}: {call['status']}]")
    return "\n".join([*lines, *(f"[{note}]" for note in answer["notes"]), f"[session {answer['sessionId']}]"])


def not_kept(result: dict[str, Any]) -> list[str]:
    """How much of each stream of a program's output was too much to keep, in words."""
    kept = {stream: len(result.get(stream, "").encode()) for stream in ("stdout", "stderr")}
    return [
        f"{stream}: {kept[stream]} of {result[f'{stream}Bytes']} bytes kept"
        for stream in kept
        if result.get(f"{stream}Bytes", 0) > kept[stream]
    ]


def cut(text: str, limit: int, call: str) -> str:
    """The beginning of a long text, its full size, and how to read on."""
    return (
        f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown; "
        f"read on with execution/output --execution={call} --offset={limit}]"
    )


def _beside_stdout(result: dict[str, Any]) -> list[str]:
    """What else there is to say of a program: what it complained of and changed, a bad end, what was not kept."""
    lines = []
    if result.get("stderr"):
        lines.append(f"stderr: {result['stderr']}".rstrip("\n"))
    if result["exitCode"] != 0:
        lines.append(f"exit code: {'none, it was stopped' if result['exitCode'] is None else result['exitCode']}")
    changes = _changes(result.get("changes") or {})
    if changes:
        lines.append(f"changes: {changes}")
    if result.get("sandbox", "full") != "full":
        lines.append(f"sandbox: {result['sandbox']}")
    return lines + [f"[{words}]" for words in not_kept(result)]


def _changes(changes: dict[str, Any]) -> str:
    """What a program changed in the workspace, by name as far as names were kept."""
    named = {word: changes[word] for word in ("created", "changed", "deleted") if changes.get(word)}
    text = "; ".join(f"{word} {', '.join(paths)}" for word, paths in named.items())
    more = changes.get("total", 0) - sum(map(len, named.values()))
    return f"{text}; and {more} more" if more > 0 else text


def _block(block: dict[str, Any]) -> str:
    kind, data = block.get("type"), block.get("data")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource_link":
        return f"[link to {block.get('uri')}]"
    if kind == "resource" and isinstance(held := block.get("resource"), dict):
        if "text" in held:
            return str(held["text"])
        return f"[resource {held.get('uri')}: {_data(held.get('mimeType'), held.get('blob'))}]"
    return f"[{kind}: {_data(block.get('mimeType'), data)}]" if isinstance(data, str) else _line(block)


def _data(kind: Any, data: Any) -> str:
    """What bytes that come as Base64 are, and how many."""
    digits = str(data or "").rstrip("=\n")
    return f"{kind or 'of no stated type'}, {len(digits) * 3 // 4} bytes"


def _line(item: Any) -> str:
    return item if isinstance(item, str) else _encode(item).decode()
