"""What /metrics says of calls."""

from __future__ import annotations

from doorward.core.byte_budget import ByteBudget
from doorward.core.events import CommandExecuted
from doorward.doors.http.metrics import Metrics


def ended(metrics: Metrics, status: str, code: str, seconds: float) -> None:
    metrics.observe(
        CommandExecuted(
            tenant="local",
            at=1.0,
            call="c",
            caller="a",
            kind="ai",
            room="r",
            door="d",
            command="x/y",
            status=status,
            code=code,
            seconds=seconds,
        )
    )


def test_calls_are_counted_by_their_end_and_their_time_only_if_they_ran() -> None:
    metrics = Metrics(lambda: 3, lambda: 9, ByteBudget(100, 100, 100))
    for seconds in (0.0005, 0.001, 0.003, 50.0):
        ended(metrics, "done", "ok", seconds)
    ended(metrics, "refused", "too_fast", 0.0)
    lines = metrics.render().decode().splitlines()
    assert 'doorward_calls_total{code="ok",status="done"} 4.0' in lines
    assert 'doorward_calls_total{code="too_fast",status="refused"} 1.0' in lines
    assert [line.rpartition(" ")[2] for line in lines if "_bucket{" in line] == ["2.0", *["3.0"] * 7, "4.0"]
    assert "doorward_call_seconds_sum 50.0045" in lines
    assert {"doorward_running 3.0", "doorward_ledger_records 9.0", "doorward_inflight_bytes 0.0"} <= set(lines)
