"""What /metrics says of calls and of agents with effort."""

from __future__ import annotations

from doorward.core.byte_budget import ByteBudget
from doorward.core.events import CommandExecuted, EnergyChanged, SubAgentReported
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
    metrics = Metrics(lambda: 3, lambda: 9, ByteBudget(100, 100, 100), dict)
    for seconds in (0.0005, 0.001, 0.003, 50.0):
        ended(metrics, "done", "ok", seconds)
    ended(metrics, "refused", "too_fast", 0.0)
    lines = metrics.render().decode().splitlines()
    assert 'doorward_calls_total{code="ok",status="done"} 4.0' in lines
    assert 'doorward_calls_total{code="too_fast",status="refused"} 1.0' in lines
    assert [line.rpartition(" ")[2] for line in lines if "_bucket{" in line] == ["2.0", *["3.0"] * 7, "4.0"]
    assert "doorward_call_seconds_sum 50.0045" in lines
    assert {"doorward_running 3.0", "doorward_ledger_records 9.0", "doorward_inflight_bytes 0.0"} <= set(lines)


def test_the_energy_of_agents_its_charges_and_each_state_of_a_request_are_counted() -> None:
    metrics = Metrics(lambda: 0, lambda: 0, ByteBudget(100, 100, 100), lambda: {"scout": -12.5})
    for level in (90.0, 80.0):
        metrics.observe_charge(EnergyChanged(tenant="local", at=1.0, agent="scout", level=level, status="high"))
    for request, state in (
        ("r1", "queued"),
        ("r1", "in_progress"),
        ("r1", "in_progress"),
        ("r1", "completed"),
        ("r2", "queued"),
    ):
        metrics.observe_request(
            SubAgentReported(
                tenant="local",
                at=1.0,
                agent="scout",
                request=request,
                report="status_update",
                state=state,
                progress=5.0,
                message="",
            )
        )
    lines = metrics.render().decode().splitlines()
    assert 'doorward_energy_level{agent="scout"} -12.5' in lines
    assert 'doorward_energy_charges_total{agent="scout"} 2.0' in lines
    counted = {line for line in lines if line.startswith("doorward_subagent_requests_total")}
    assert counted == {
        'doorward_subagent_requests_total{agent="scout",state="queued"} 2.0',
        'doorward_subagent_requests_total{agent="scout",state="in_progress"} 1.0',
        'doorward_subagent_requests_total{agent="scout",state="completed"} 1.0',
    }
