"""Redirects: the input and output streams of a stage."""

from __future__ import annotations

import msgspec

from doorward.backends.context import Context
from doorward.backends.session import virtual
from doorward.backends.session.called import Called, StageFault
from doorward.backends.session.expansion import Expansion
from doorward.backends.session.session import Session
from doorward.backends.session.syntax import Redirect, Stage
from doorward.backends.vfs.paths import absolute
from doorward.errors import BadParams

NOWHERE = "/dev/null"
_FIXED = ("/system", "/proc")


class Target(msgspec.Struct, frozen=True):
    """The target of a stream: a file, or the next stage or client when `path` is empty."""

    stream: str
    path: str = ""
    append: bool = False


OUT, ERR = Target("stdout"), Target("stderr")


class Streams(msgspec.Struct, kw_only=True):
    piped: str | None
    out: Target = OUT
    err: Target = ERR

    @property
    def redirected(self) -> bool:
        return self.out is not OUT or self.err is not ERR


async def opened(ctx: Context, session: Session, expansion: Expansion, stage: Stage, piped: str | None) -> Streams:
    """Open the streams of a stage. Input files are read now; output files are written when the stage has ended."""
    streams = Streams(piped=piped)
    for one in stage.redirects:
        await _apply(ctx, session, expansion, streams, one)
    return streams


async def _apply(ctx: Context, session: Session, expansion: Expansion, streams: Streams, one: Redirect) -> None:
    if one.target is None:
        if one.sign == "2>&1":
            streams.err = streams.out
        else:
            streams.out = streams.err
        return
    if one.sign == "<<<":
        streams.piped = await expansion.text(one.target) + "\n"
        return
    path = _placed(await expansion.one(one.target, f"the file after {one.sign}"), session)
    if one.sign == "<":
        streams.piped = "" if path == NOWHERE else await virtual.read(ctx, path)
        return
    if path == "/" or path.startswith(_FIXED):
        raise StageFault(f"{path} cannot be written; valid: files below /workspace, /tmp, ~ and /data", 1)
    target = Target("file", path, one.sign.endswith(">>"))
    for stream in {"2": ("err",), "&": ("out", "err")}.get(one.sign[0], ("out",)):
        before = getattr(streams, stream).path
        if before:
            raise StageFault(f"a stream can go into one file only; given {before} and {path}")
        setattr(streams, stream, target)


def _placed(word: str, session: Session) -> str:
    try:
        return absolute(word, session.cwd, session.home)
    except BadParams as error:
        raise StageFault(error.message, 1) from error


async def delivered(ctx: Context, name: str, streams: Streams, made: Called) -> tuple[str, str, list[Called]]:
    """Write redirected output into files; return the remaining output and errors, and the write results."""
    out: list[str] = []
    err: list[str] = []
    files: dict[Target, list[str]] = {}
    for target, text in ((streams.out, made.stdout), (streams.err, made.stderr)):
        if target.path:
            files.setdefault(target, []).append(text)
        else:
            (out if target.stream == "stdout" else err).append(text)
    writes = []
    for target, texts in files.items():
        if target.path != NOWHERE:
            writes.append(await virtual.write(ctx, name, target.path, "".join(texts), append=target.append))
            err.append(writes[-1].stderr)
    return "".join(out), "".join(err), writes
