"""Input of `doorward chat`: a prompt on a terminal, or lines from a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from doorward.core.escape_invisible import escape_invisible

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

_TYPING_EVERY = 3.0
"""Seconds between two typing indicators."""


class LineInput(Protocol):
    """A source of input lines."""

    people: bool
    """Whether a person types at a terminal."""

    def screen(self) -> contextlib.AbstractContextManager[None]:
        """Context in which printed output does not break the prompt."""

    def lines(self) -> AsyncIterator[str]:
        """Yield each line as it is entered."""

    def refresh(self) -> None:
        """Redraw the status line."""


class PipeInput:
    """Lines from a pipe or a file. A thread reads them, because asyncio cannot wait for regular files."""

    people = False

    def screen(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    async def lines(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        came: asyncio.Queue[str | None] = asyncio.Queue()

        def read() -> None:
            with contextlib.suppress(RuntimeError, ValueError):  # the loop has ended, or the input is closed
                for line in sys.stdin:
                    loop.call_soon_threadsafe(came.put_nowait, line.rstrip("\r\n"))
                loop.call_soon_threadsafe(came.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        while (line := await came.get()) is not None:
            yield line

    def refresh(self) -> None:
        pass


class PromptInput:
    """A prompt on a terminal, with a status line below it."""

    people = True

    def __init__(
        self,
        room: str,
        status: Callable[[], str],
        words: Callable[[], Iterable[str]],
        typing: Callable[[], None],
        *,
        given: Input | None = None,
        drawn: Output | None = None,
    ) -> None:
        """`words` returns the completions: chat commands, and @names of members."""
        from prompt_toolkit import PromptSession  # noqa: PLC0415 - slow to import, and only a terminal needs it
        from prompt_toolkit.formatted_text import to_plain_text  # noqa: PLC0415

        self._typing = typing
        self._typing_sent_at = -_TYPING_EVERY
        self._session: PromptSession[str] = PromptSession(
            f"{escape_invisible(room, lines=False)}> ",
            bottom_toolbar=lambda: to_plain_text(status()),
            completer=make_completer(words),
            complete_while_typing=False,
            erase_when_done=True,  # the message comes back from the server and is printed then
            input=given,
            output=drawn,
        )
        self._session.default_buffer.on_text_changed += self._on_text_changed

    def screen(self) -> contextlib.AbstractContextManager[None]:
        from prompt_toolkit.patch_stdout import patch_stdout  # noqa: PLC0415 - as above

        return patch_stdout(raw=True)

    async def lines(self) -> AsyncIterator[str]:
        """Yield lines until Ctrl-D or Ctrl-C at the prompt."""
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            while True:
                yield await self._session.prompt_async()

    def refresh(self) -> None:
        self._session.app.invalidate()

    def _on_text_changed(self, buffer: Any) -> None:
        now = time.monotonic()
        if buffer.text and not buffer.text.startswith("/") and now - self._typing_sent_at >= _TYPING_EVERY:
            self._typing_sent_at = now
            self._typing()


def make_completer(words: Callable[[], Iterable[str]]) -> Any:
    """Return a completer for the word before the cursor."""
    from prompt_toolkit.completion import Completer, Completion  # noqa: PLC0415 - as above

    class _Words(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            begun = document.get_word_before_cursor(WORD=True)
            for word in words() if begun else ():
                if word.startswith(begun):
                    yield Completion(f"{word} ", start_position=-len(begun))

    return _Words()
