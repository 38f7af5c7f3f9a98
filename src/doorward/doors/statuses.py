"""HTTP status of each outcome code. A test proves that none is missing."""

from __future__ import annotations

HTTP_STATUS = {
    "ok": 200,
    "cached": 200,
    "dry_run": 200,
    "approval_needed": 202,
    "not_authenticated": 401,
    "unknown_command": 404,
    "bad_params": 400,
    "not_permitted": 403,
    "too_fast": 429,
    "looping": 429,
    "overloaded": 503,
    "out_of_energy": 429,
    "not_approved": 403,
    "not_found": 404,
    "conflict": 409,
    "withdrawn": 499,
    "sandbox_unavailable": 503,
    "ledger_unavailable": 503,
    "command_failed": 422,
    "timed_out": 504,
    "cancelled": 499,
    "unreachable": 502,
    "interrupted": 500,
    "unrecorded": 500,
    "broken": 500,
    "unusable": 500,
}
