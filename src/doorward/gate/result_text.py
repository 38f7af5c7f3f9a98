"""Results and failures as text for models."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.core.command import Blocks
from doorward.core.errors import DoorwardError

NO_OUTPUT = "Result: no output"
"""The text of a successful result without output."""
FILE_CONTENT_KEYS = frozenset(("path", "encoding", "size", "digest", "content"))
_encode = msgspec.json.Encoder().encode


def render_result(result: Any, *, thought: bool = False) -> str:
    """Lists as numbered lines, output of programs and servers unchanged, everything else as indented JSON.

    `thought` marks the keeper's answer. Its shape does not tell: any record may look like it.
    """
    if thought:
        return render_agent_answer(result)
    if isinstance(result, dict) and isinstance(result.get("items"), list):
        items = result["items"]
        lines = [f"Found {len(items)} items:"]
        lines += [f"{number}. {_line(item)}" for number, item in enumerate(items, 1)]
        rest = {key: value for key, value in result.items() if key != "items" and value not in (None, "", [])}
        if rest:
            lines.append(f"({_line(rest)})")
        return "\n".join(lines)
    if type(result) is Blocks:
        return render_blocks(result) or NO_OUTPUT
    if isinstance(result, str):
        return f"Result: {result}" if result else NO_OUTPUT
    if is_program_result(result):
        stdout, beside = result["stdout"].rstrip("\n"), _program_details(result)
        return "\n".join([f"Result: {stdout}", *beside]) if stdout or beside else NO_OUTPUT
    if is_file_content(result) and "mimeType" in result:  # a picture, whose bytes are no text
        result = {key: value for key, value in result.items() if key != "content"}
    return f"Result: {msgspec.json.format(_encode(result), indent=2).decode()}"


def to_blocks(result: Any) -> Blocks | None:
    """A result made of content blocks, also when it arrived as plain values; None for any other result."""
    if type(result) is Blocks:
        return result
    if not isinstance(result, dict) or not {"content"} <= result.keys() <= {"content", "structuredContent"}:
        return None
    content = result["content"]
    if not isinstance(content, list) or not all(isinstance(one, dict) and "type" in one for one in content):
        return None
    return Blocks(content=content, structured_content=result.get("structuredContent"))


def render_blocks(blocks: Blocks) -> str:
    """Text blocks unchanged; a short description of every other block."""
    lines = [_block(block) for block in blocks.content]
    if not lines and blocks.structured_content is not None:
        lines.append(msgspec.json.format(_encode(blocks.structured_content), indent=2).decode())
    return "\n".join(lines)


def render_failure(error: DoorwardError, *, thought: bool = False) -> str:
    """The error sentence, with the output of a failed program or the actions of the keeper."""
    lines = [f"Command failed: {error.message}"]
    if is_program_result(error.result):
        if error.result["stdout"]:
            lines.append(f"stdout: {error.result['stdout']}".rstrip("\n"))
        lines += _program_details(error.result)
    elif thought and error.result is not None:
        lines.append(render_agent_answer(error.result))
    elif type(error.result) is Blocks and (words := render_blocks(error.result)) not in error.message:
        lines.append(words)
    return "\n".join(lines)


def record_note(error: DoorwardError | None, result: Any, *, thought: bool = False) -> str:
    """The note of an end record: the failure in words and, for the keeper, its model.

    Output of programs is never recorded, and neither is an error sentence that may quote it.
    """
    if error is None:
        return describe_model(result) if thought else ""
    if error.result is None:
        return error.message
    if not is_program_result(error.result):
        model = f"{describe_model(error.result)} " if thought else ""
        return f"{model}Its result has details that are not recorded."
    code = error.result["exitCode"]
    return f"A program ended with exit code {code}." if code is not None else "A program was stopped."


def describe_model(answer: dict[str, Any]) -> str:
    """The recorded part of the keeper's answer: its model, and how it ended."""
    if not answer["turns"]:
        return f"No model was called ({answer['ended']})."
    return f"The keeper used {answer['model']} ({answer['ended']})."


def is_program_result(result: Any) -> bool:
    """Whether this is the result of a command that ran a program."""
    return isinstance(result, dict) and "exitCode" in result and isinstance(result.get("stdout"), str)


def is_file_content(result: Any) -> bool:
    """Whether this is the content of a file, as file/read returns it."""
    return isinstance(result, dict) and result.keys() >= FILE_CONTENT_KEYS and isinstance(result["content"], str)


def render_agent_answer(answer: dict[str, Any]) -> str:
    """The keeper's answer, and one line for each call that it made."""
    lines = [answer["response"]]
    for call in answer["toolCalls"]:
        what = call["input"].get("command") or call["input"].get("path", "")
        lines.append(f"[{call['name']} {_line(what)}: {call['status']}]")
    return "\n".join([*lines, *(f"[{note}]" for note in answer["notes"]), f"[session {answer['sessionId']}]"])


def describe_truncation(result: dict[str, Any]) -> list[str]:
    """For each output stream that was truncated, how much was kept."""
    kept = {stream: len(result.get(stream, "").encode()) for stream in ("stdout", "stderr")}
    return [
        f"{stream}: {kept[stream]} of {result[f'{stream}Bytes']} bytes kept"
        for stream in kept
        if result.get(f"{stream}Bytes", 0) > kept[stream]
    ]


def truncate(text: str, limit: int, call: str) -> str:
    """Truncate a long text, and say its full size and how to read on."""
    return (
        f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown; "
        f"read on with execution/output --execution={call} --offset={limit}]"
    )


def _program_details(result: dict[str, Any]) -> list[str]:
    """The rest of a program's result: stderr, a nonzero exit code, changed files, refused hosts, truncation."""
    lines = []
    if result.get("stderr"):
        lines.append(f"stderr: {result['stderr']}".rstrip("\n"))
    if result["exitCode"] != 0:
        lines.append(f"exit code: {'none, it was stopped' if result['exitCode'] is None else result['exitCode']}")
    changes = _changes(result.get("changes") or {})
    if changes:
        lines.append(f"changes: {changes}")
    for about in (result, result.get("changes") or {}):
        lines += [f"{word}: {about[word]}" for word in ("withheld", "undo") if about.get(word)]
    if result.get("sandbox", "full") != "full":
        lines.append(f"sandbox: {result['sandbox']}")
    if result.get("network"):
        lines.append(f"network: {result['network']}")
    lines += [f"refused host: {host}" for host in result.get("refusedHosts", ())]
    return lines + [f"[{words}]" for words in describe_truncation(result)]


def _changes(changes: dict[str, Any]) -> str:
    """The files that a program changed in the workspace."""
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
    """The type and size of Base64 data."""
    digits = str(data or "").rstrip("=\n")
    return f"{kind or 'of no stated type'}, {len(digits) * 3 // 4} bytes"


def _line(item: Any) -> str:
    return item if isinstance(item, str) else _encode(item).decode()
