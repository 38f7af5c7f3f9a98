"""The filters as they ship: bytes for the kernel. Nothing is assembled while Doorward runs."""

from __future__ import annotations

import os
from importlib import resources
from typing import Literal, get_args

Kind = Literal["full", "alone", "alone-network"]
"""full: inside namespaces. alone: where there are none. alone-network: the same, with the network."""

KINDS: tuple[Kind, ...] = get_args(Kind)
MACHINES = ("x86_64", "aarch64")
FOLDER = "filters"


def file_name(kind: str, machine: str) -> str:
    return f"{machine}-{kind}.bpf"


def load(kind: str, machine: str | None = None) -> bytes | None:
    """The filter of this kind for this machine or a named one; None when there is none for that machine."""
    if kind not in KINDS:
        raise ValueError(f"There is no kind of filter {kind!r}; valid: {', '.join(KINDS)}.")
    machine = machine or os.uname().machine
    if machine not in MACHINES:
        return None
    return resources.files(__package__).joinpath(FOLDER, file_name(kind, machine)).read_bytes()
