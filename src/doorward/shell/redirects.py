"""Redirects: the input and output streams of a stage."""

from __future__ import annotations

import msgspec

from doorward.commands.context import Context
from doorward.core.errors import BadParams
from doorward.shell import file_access
from doorward.shell.expansion import Expansion
from doorward.shell.results import StageFault, StageResult
from doorward.shell.session import ShellSession
from doorward.shell.syntax import Redirect, Stage
from doorward.shell.vfs.paths import normalize_path

DEV_NULL = "/dev/null"
_READ_ONLY = ("/system", "/proc")


class StreamTarget(msgspec.Struct, frozen=True):
    """The target of a stream: a file, or the next stage or client when `path` is empty."""

    stream: str
    path: str = ""
    append: bool = False


OUT, ERR = StreamTarget("stdout"), StreamTarget("stderr")


class StageStreams(msgspec.Struct, kw_only=True):
    piped: str | None
    out: StreamTarget = OUT
    err: StreamTarget = ERR

    @property
    def is_redirected(self) -> bool:
        return self.out is not OUT or self.err is not ERR


async def open_streams(
    ctx: Context, session: ShellSession, expansion: Expansion, stage: Stage, piped: str | None
) -> StageStreams:
    """Open the streams of a stage. Input files are read now; output files are written when the stage has ended."""
    streams = StageStreams(piped=piped)
    for one in stage.redirects:
        await _apply_redirect(ctx, session, expansion, streams, one)
    return streams


async def _apply_redirect(
    ctx: Context, session: ShellSession, expansion: Expansion, streams: StageStreams, one: Redirect
) -> None:
    if one.target is None:
        if one.sign == "2>&1":
            streams.err = streams.out
        else:
            streams.out = streams.err
        return
    if one.sign == "<<<":
        streams.piped = await expansion.expand_text(one.target) + "\n"
        return
    path = _absolute_path(await expansion.expand_single(one.target, f"the file after {one.sign}"), session)
    if one.sign == "<":
        streams.piped = "" if path == DEV_NULL else await file_access.read_virtual_file(ctx, path)
        return
    if path == "/" or path.startswith(_READ_ONLY):
        raise StageFault(f"{path} cannot be written; valid: files below /workspace, /tmp, ~ and /data", 1)
    target = StreamTarget("file", path, one.sign.endswith(">>"))
    for stream in {"2": ("err",), "&": ("out", "err")}.get(one.sign[0], ("out",)):
        before = getattr(streams, stream).path
        if before:
            raise StageFault(f"a stream can go into one file only; given {before} and {path}")
        setattr(streams, stream, target)


def _absolute_path(word: str, session: ShellSession) -> str:
    try:
        return normalize_path(word, session.cwd, session.home)
    except BadParams as error:
        raise StageFault(error.message, 1) from error


async def write_streams(
    ctx: Context, name: str, streams: StageStreams, made: StageResult
) -> tuple[str, str, list[StageResult]]:
    """Write redirected output into files; return the remaining output and errors, and the write results."""
    out: list[str] = []
    err: list[str] = []
    files: dict[StreamTarget, list[str]] = {}
    for target, text in ((streams.out, made.stdout), (streams.err, made.stderr)):
        if target.path:
            files.setdefault(target, []).append(text)
        else:
            (out if target.stream == "stdout" else err).append(text)
    writes = []
    for target, texts in files.items():
        if target.path != DEV_NULL:
            writes.append(
                await file_access.write_virtual_file(ctx, name, target.path, "".join(texts), append=target.append)
            )
            err.append(writes[-1].stderr)
    return "".join(out), "".join(err), writes
