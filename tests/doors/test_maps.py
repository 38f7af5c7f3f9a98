"""Every outcome has its answer at every door (R3.5)."""

from __future__ import annotations

import typing

from doorward.cli.report import EXIT_CODES
from doorward.core.errors import concrete_errors
from doorward.core.model import Status
from doorward.doors.http.problems import HTTP_STATUS

ENDINGS = {"ok", "cached", "dry_run", "approval_needed"}


def test_every_code_has_an_http_status_and_there_are_no_others():
    assert set(HTTP_STATUS) == {leaf.code for leaf in concrete_errors()} | ENDINGS


def test_what_was_refused_or_failed_is_never_a_success_over_http():
    assert all(HTTP_STATUS[leaf.code] >= 400 for leaf in concrete_errors())


def test_every_status_has_its_own_exit_code_and_only_done_is_zero():
    assert set(EXIT_CODES) == set(typing.get_args(Status))
    assert [status for status, code in EXIT_CODES.items() if code == 0] == ["done"]
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
