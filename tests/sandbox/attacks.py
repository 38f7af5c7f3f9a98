"""Every attack there is. Each works outside the sandbox, and must not inside it."""

from __future__ import annotations

from attack import Attack
from attacks_by_network import NETWORK
from attacks_on_files import FILES
from attacks_on_limits import LIMITS
from attacks_on_privileges import PRIVILEGES
from attacks_on_processes import PROCESSES

ATTACKS: tuple[Attack, ...] = FILES + PROCESSES + PRIVILEGES + NETWORK + LIMITS


def for_user(who: str, *, lent: bool) -> list[Attack]:
    """Those that work outside for `root`, or for an ordinary `user` whom root may have lent a program."""
    kinds = {"all", "root" if who == "root" else "all", "lent" if lent else "all"}
    return [attack for attack in ATTACKS if attack.who in kinds]
