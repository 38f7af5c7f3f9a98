"""Whether a connection is read from at this moment."""

from __future__ import annotations

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """Reading that stays paused while too many requests wait, whoever asks for more."""

    held = False

    def hold(self) -> None:
        self.held = True
        self.pause_reading()

    def release(self) -> None:
        self.held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()
