"""Loads the shipped filters. Nothing is assembled at run time."""

from __future__ import annotations

import os
from importlib import resources
from typing import Literal, get_args

FilterKind = Literal["full", "alone", "alone-network"]
"""full: with namespaces. alone: without namespaces. alone-network: without namespaces, with network access."""

KINDS: tuple[FilterKind, ...] = get_args(FilterKind)
MACHINES = ("x86_64", "aarch64")
FOLDER = "filters"


def make_file_name(kind: str, machine: str) -> str:
    return f"{machine}-{kind}.bpf"


def load_filter(kind: str, machine: str | None = None) -> bytes | None:
    """Load the filter of this kind for a machine, by default this one; None when the machine is not supported."""
    if kind not in KINDS:
        raise ValueError(f"Unknown filter kind {kind!r}; valid: {', '.join(KINDS)}.")
    machine = machine or os.uname().machine
    if machine not in MACHINES:
        return None
    return resources.files(__package__).joinpath(FOLDER, make_file_name(kind, machine)).read_bytes()
