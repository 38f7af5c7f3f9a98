"""The shipped filters do what their policy says, whatever the arguments, and match it byte for byte."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator

import pytest
from bpf_machine import ALLOWED, KILLED, Machine, refused

from doorward.sandbox.seccomp import __main__ as writing
from doorward.sandbox.seccomp import machines as facts
from doorward.sandbox.seccomp.filter_files import KINDS, MACHINES, FilterKind, load_filter
from doorward.sandbox.seccomp.policy import LAYERS, build_policy
from doorward.sandbox.seccomp.rules import (
    ArgumentHasBits,
    ArgumentIsLong,
    CallDecision,
    CallGroup,
    Condition,
    collect_decisions,
)

BY_NAME = {machine.name: machine for machine in facts.load_machines()}
POLICIES = {kind: build_policy(kind) for kind in KINDS}
EVERY = pytest.mark.parametrize(("machine", "kind"), list(itertools.product(MACHINES, KINDS)))
ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
UPPER = 0xDEAD_BEEF_0000_0000


def filter_of(kind: str, machine: str) -> Machine:
    code = load_filter(kind, machine)
    assert code is not None
    return Machine(code)


def answer(machine: str, kind: str, call: str, *arguments: int) -> str:
    """What a shipped filter says to a call by its name, in words."""
    known = BY_NAME[machine]
    said = filter_of(kind, machine).run(known.audit, known.numbers[call], arguments)
    return "allow" if said == ALLOWED else errno.errorcode[said - refused(0)]


def holds(condition: Condition, arguments: tuple[int, ...]) -> bool:
    argument = arguments[condition.argument]
    if isinstance(condition, ArgumentIsLong):
        return argument == condition.value
    low = argument % 2**32
    if isinstance(condition, ArgumentHasBits):
        return low & condition.bits > 0
    return (low & condition.mask) in condition.values


def by_the_policy(decision: CallDecision | None, arguments: tuple[int, ...]) -> int:
    """The answer that a person would read out of the policy."""
    if decision is None:
        return refused(errno.ENOSYS)
    words = [case.answer for case in decision.cases if all(holds(condition, arguments) for condition in case.when)]
    word = [*words, decision.otherwise][0]
    return ALLOWED if word == "allow" else refused(getattr(errno, word))


def telling_values(conditions: list[Condition]) -> set[int]:
    """Values of one argument that fall on either side of each condition on it, with noise in the bits around."""
    values = {0, 1, 7, UPPER, ALL_BITS, 0x7FFF_FFFF, 0x8000_0000}
    for condition in conditions:
        if isinstance(condition, ArgumentHasBits):
            named = {
                condition.bits,
                ALL_BITS & ~condition.bits,
                *(1 << n for n in range(32) if condition.bits >> n & 1),
            }
        elif isinstance(condition, ArgumentIsLong):
            named = {condition.value}
        else:
            named = {*condition.values, *(value | ALL_BITS & ~condition.mask for value in condition.values)}
        for value in named:
            values |= {value, value ^ 1, value | 0x100, value | UPPER, value + 1, (value - 1) & ALL_BITS}
    return {value & ALL_BITS for value in values}


def telling_arguments(decision: CallDecision | None) -> Iterator[tuple[int, ...]]:
    conditions = [condition for case in decision.cases for condition in case.when] if decision else []
    spoken_of = {condition.argument for condition in conditions}
    yield from itertools.product(
        *(
            sorted(telling_values([c for c in conditions if c.argument == n])) if n in spoken_of else (ALL_BITS,)
            for n in range(6)
        )
    )
    yield (0,) * 6


@EVERY
def test_a_filter_answers_every_call_as_the_policy_reads(machine: str, kind: FilterKind) -> None:
    known, shipped = BY_NAME[machine], filter_of(kind, machine)
    names = {number: name for name, number in known.numbers.items()}
    tried = 0
    for number in range(601):
        decision = POLICIES[kind].get(names.get(number, ""))
        for arguments in telling_arguments(decision):
            said = shipped.run(known.audit, number, arguments)
            assert said == by_the_policy(decision, arguments), (names.get(number), number, arguments)
            tried += 1
    assert tried > 2000


@EVERY
def test_a_call_finds_its_answer_in_few_steps(machine: str, kind: FilterKind) -> None:
    known, shipped = BY_NAME[machine], filter_of(kind, machine)
    steps = []
    for number in range(601):
        shipped.run(known.audit, number)
        steps.append(shipped.instructions_run)
    assert max(steps) <= 32
    assert sum(steps) / len(steps) <= 14


@EVERY
@pytest.mark.parametrize("audit", [0x4000_0003, 0x4000_0028, 0, 0xFFFF_FFFF, "other"])
def test_a_call_by_another_convention_ends_the_process(machine: str, kind: FilterKind, audit: int | str) -> None:
    other = next(known.audit for known in BY_NAME.values() if known.name != machine)
    shipped = filter_of(kind, machine)
    for number in range(601):
        assert shipped.run(other if isinstance(audit, str) else audit, number) == KILLED


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_convention_of_x86_64_ends_the_process(kind: FilterKind) -> None:
    known, shipped = BY_NAME["x86_64"], filter_of(kind, "x86_64")
    for number in range(601):
        assert shipped.run(known.audit, 0x4000_0000 | number) == KILLED
    assert shipped.run(known.audit, 0xFFFF_FFFF) == KILLED


@EVERY
def test_calls_that_nobody_knows_yet_are_not_there(machine: str, kind: FilterKind) -> None:
    known, shipped = BY_NAME[machine], filter_of(kind, machine)
    for number in [*range(max(known.numbers.values()) + 1, 2000), 0xFFFF, 0x3FFF_FFFF]:
        assert shipped.run(known.audit, number) == refused(errno.ENOSYS)


def test_the_shipped_files_are_what_the_policy_makes() -> None:
    made = writing.assemble_filters()
    assert set(made) == {f"{machine}-{kind}.bpf" for machine in MACHINES for kind in KINDS}
    for machine, kind in itertools.product(MACHINES, KINDS):
        assert load_filter(kind, machine) == made[f"{machine}-{kind}.bpf"], "run `make filters`"


def test_every_known_call_is_decided_on_purpose_and_no_other_is_named() -> None:
    known = {name for machine in BY_NAME.values() for name in machine.numbers}
    for kind in KINDS:
        assert set(POLICIES[kind]) == known


def test_every_group_gives_its_reason_in_sentences() -> None:
    for group in {group for layers in LAYERS.values() for layer in layers for group in layer}:
        assert group.why.endswith(".")
        assert len(group.why.split()) >= 2


def test_a_call_cannot_stand_in_two_groups() -> None:
    twice = (CallGroup("One.", "read write", "allow"), CallGroup("Two.", "write", "EPERM"))
    with pytest.raises(ValueError, match="'write' is in two"):
        collect_decisions([twice])


def test_numbers_are_unique_and_where_machines_agree_by_design_they_do() -> None:
    for machine in BY_NAME.values():
        assert len(set(machine.numbers.values())) == len(machine.numbers)
    newest = {name: number for name, number in BY_NAME["x86_64"].numbers.items() if number >= 424}
    assert len(newest) == 47
    for name, number in newest.items():
        assert BY_NAME["aarch64"].numbers[name] == number


@pytest.mark.parametrize(
    ("call", "x86_64", "aarch64"),
    [
        ("openat", 257, 56),
        ("clone", 56, 220),
        ("execve", 59, 221),
        ("ioctl", 16, 29),
        ("socket", 41, 198),
        ("unshare", 272, 97),
        ("setns", 308, 268),
        ("fchmodat", 268, 53),
        ("mount", 165, 40),
        ("ptrace", 101, 117),
    ],
)
def test_the_numbers_that_matter_most_are_right(call: str, x86_64: int, aarch64: int) -> None:
    assert BY_NAME["x86_64"].numbers[call] == x86_64
    assert BY_NAME["aarch64"].numbers[call] == aarch64


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_that_takes_away_a_refusal_differs_between_kinds(machine: str) -> None:
    """Alone is never wider than full, and the network is all that alone-network has more than alone."""
    known = BY_NAME[machine]
    kinds = {kind: filter_of(kind, machine) for kind in KINDS}
    for call, number in known.numbers.items():
        for arguments in telling_arguments(POLICIES["alone"][call]):
            said = {kind: shipped.run(known.audit, number, arguments) for kind, shipped in kinds.items()}
            if said["full"] != ALLOWED:
                assert said["alone"] != ALLOWED, (call, arguments)
                assert said["alone-network"] != ALLOWED, (call, arguments)
            if call != "socket":
                assert said["alone"] == said["alone-network"], (call, arguments)


FULL = [
    ("unshare", (0x2000_0000,), "allow"),
    ("unshare", (0x3000_0000,), "EPERM"),
    ("unshare", (0x1_2000_0000,), "EPERM"),
    ("unshare", (0,), "EPERM"),
    ("setns", (3, 0x2000_0000), "allow"),
    ("setns", (3, 0), "EPERM"),
    ("setns", (3, UPPER | 0x1000_0000), "EPERM"),
    ("clone", (0x0100_0011 | 0x003D_0F00,), "allow"),
    ("clone", (UPPER | 17,), "allow"),
    ("clone", (UPPER | 0x1000_0000,), "EPERM"),
    ("clone3", (), "ENOSYS"),
    ("prctl", (22, 2), "allow"),
    ("prctl", (UPPER | 35,), "EPERM"),
    ("personality", (0xFFFF_FFFF,), "allow"),
    ("personality", (0x0040000,), "EPERM"),
    ("ioctl", (0, 0x5413), "allow"),
    ("ioctl", (0, UPPER | 0x5412), "EPERM"),
    ("ioctl", (0, UPPER | 0x541C), "EPERM"),
    ("mknodat", (3, 0, 0o010644), "allow"),
    ("mknodat", (3, 0, 0o020644), "EPERM"),
    ("mknodat", (3, 0, 0o060644), "EPERM"),
    ("mknodat", (3, 0, 0o104755), "EPERM"),
    ("mknodat", (3, 0, 0x10000 | 0o100644), "allow"),
    ("mknodat", (3, 0, 0x10000 | 0o020644), "EPERM"),
    ("fchmod", (3, 0o1777), "allow"),
    ("fchmod", (3, UPPER | 0x10000 | 0o4755), "EPERM"),
    ("fchmod", (3, 0o2755), "EPERM"),
    ("fchmodat", (3, 0, 0o4755), "EPERM"),
    ("fchmodat2", (3, 0, 0o2755), "EPERM"),
    ("openat", (3, 0, 0, 0o4755), "allow"),
    ("openat", (3, 0, 0o101, 0o644), "allow"),
    ("openat", (3, 0, UPPER | 0o101, UPPER | 0o4644), "EPERM"),
    ("openat", (3, 0, 0o20200002, 0o2644), "EPERM"),
    ("openat2", (3, 0, 0, 24), "ENOSYS"),
    ("socket", (1, 1, 0), "allow"),
    ("socket", (2, 0o2000001, 0), "allow"),
    ("socket", (10, 2, 0), "allow"),
    ("socket", (2, 0o2000012, 0), "EAFNOSUPPORT"),
    ("socket", (UPPER | 40, 1, 0), "EAFNOSUPPORT"),
    ("socket", (0x1_0000_0001, 1, 0), "allow"),
    ("socketpair", (1, 2, 0), "allow"),
    ("socketpair", (2, 1, 0), "EAFNOSUPPORT"),
    ("utimensat", (3, 4096), "allow"),
    ("kill", (-1, 9), "allow"),
    ("memfd_secret", (), "ENOSYS"),
    ("io_uring_setup", (), "ENOSYS"),
    *(
        (call, (), "EPERM")
        for call in ("mount", "umount2", "pivot_root", "chroot", "ptrace", "bpf", "keyctl", "reboot")
    ),
    *((call, (), "allow") for call in ("prlimit64", "pidfd_open", "pidfd_send_signal", "waitid", "memfd_create")),
    *((call, (), "allow") for call in ("landlock_restrict_self", "seccomp", "execve", "rt_sigreturn", "sendmsg")),
]

ALONE = [
    ("unshare", (0x2000_0000,), "EPERM"),
    ("setns", (3, 0x2000_0000), "EPERM"),
    ("fchmod", (3, 0o644), "EPERM"),
    ("fchownat", (3, 0, 0, 0, 0), "EPERM"),
    ("setxattrat", (), "EPERM"),
    ("utimensat", (3, 0), "allow"),
    ("utimensat", (3, 0x1_0000_0000), "EPERM"),
    ("utimensat", (3, 0x7FFF_0000), "EPERM"),
    ("truncate", (), "EPERM"),
    ("ftruncate", (), "allow"),
    ("openat", (3, 0, 0o1101, 0o644), "allow"),
    ("openat", (3, 0, 0o1002, 0o644), "allow"),
    ("openat", (3, 0, 0o1000, 0), "EPERM"),
    ("openat", (3, 0, 0o3, 0), "EPERM"),
    ("openat", (3, 0, 0o101, 0o4755), "EPERM"),
    ("ioctl", (0, 0x5413), "allow"),
    ("ioctl", (0, 0x8004_5430), "allow"),
    ("ioctl", (0, 0x4004_9409), "allow"),
    ("ioctl", (0, 0x5412), "EPERM"),
    ("ioctl", (0, 0x4008_6602), "ENOTTY"),
    ("ioctl", (0, 0x401C_5820), "ENOTTY"),
    ("ioctl", (0, 0x4080_6685), "ENOTTY"),
    ("socketpair", (1, 0o2000001), "allow"),
    ("socketpair", (1, 5), "allow"),
    ("socketpair", (1, 2), "EPERM"),
    ("socketpair", (1, 3), "EPERM"),
    ("socketpair", (2, 1), "EPERM"),
    ("kill", (0, 9), "allow"),
    ("kill", (-1, 9), "EPERM"),
    ("kill", (0xFFFF_FFFF, 9), "EPERM"),
    ("shmget", (), "ENOSYS"),
    ("mq_open", (), "ENOSYS"),
    ("prlimit64", (0, 7, 4096), "allow"),
    ("prlimit64", (1_000, 7, 0), "allow"),
    ("prlimit64", (1_000, 7, 4096), "EPERM"),
    ("prlimit64", (1_000, 7, 0x1_0000_0000), "EPERM"),
    *((call, (0, 0, 4096), "allow") for call in ("sched_setparam", "sched_setscheduler", "sched_setattr")),
    *((call, (1_000, 0, 0), "EPERM") for call in ("sched_setparam", "sched_setscheduler", "sched_setattr")),
    ("sched_setaffinity", (0, 8, 4096), "allow"),
    ("sched_setaffinity", (1_000, 8, 4096), "EPERM"),
    *((call, (which, 0), "allow") for call, which in (("setpriority", 0), ("setpriority", 1), ("ioprio_set", 1))),
    *(("setpriority", (which, who), "EPERM") for which, who in ((0, 1_000), (1, 1_000), (2, 0), (2, 1_000))),
    *(("ioprio_set", (which, who), "EPERM") for which, who in ((1, 1_000), (2, 1_000), (3, 0), (0, 0))),
    *(("fcntl", (3, request, 1_000), "EPERM") for request in (8, 15)),
    *(("fcntl", (3, request, 0), "allow") for request in (0, 2, 4, 1030)),
    *(("ioctl", (3, request, 4096), "EPERM") for request in (0x8901, 0x8902)),
    ("ioctl", (3, 0x8904), "allow"),
    ("prctl", (62, 2, 1_000), "EPERM"),
    ("prctl", (38, 1), "allow"),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("call", "arguments", "expected"), FULL)
def test_inside_namespaces(machine: str, call: str, arguments: tuple[int, ...], expected: str) -> None:
    assert answer(machine, "full", call, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["alone", "alone-network"])
@pytest.mark.parametrize(("call", "arguments", "expected"), ALONE)
def test_without_namespaces(machine: str, kind: str, call: str, arguments: tuple[int, ...], expected: str) -> None:
    assert answer(machine, kind, call, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_there_are_sockets_of_the_network_or_none(machine: str) -> None:
    for family in range(50):
        allowed = "allow" if family in (2, 10) else "EPERM"
        assert answer(machine, "alone", "socket", family, 1, 0) == "EPERM"
        assert answer(machine, "alone-network", "socket", family, 1, 0) == allowed
    assert answer(machine, "alone-network", "socket", 2, 10, 0) == "EPERM"


@pytest.mark.parametrize("call", ["open", "mknod", "creat", "chmod"])
def test_old_names_without_a_folder_are_checked_too(call: str) -> None:
    arguments = {"open": (0, 0o100, 0o4755), "mknod": (0, 0o104755)}.get(call, (0, 0o4755))
    assert answer("x86_64", "full", call, *arguments) == "EPERM"


def test_a_machine_without_a_filter_has_none() -> None:
    assert load_filter("full", "riscv64") is None


def test_this_machine_is_meant_when_none_is_named() -> None:
    assert load_filter("full") == load_filter("full", os.uname().machine)


def test_an_unknown_kind_is_an_error_that_names_the_valid_ones() -> None:
    with pytest.raises(ValueError, match=r"Unknown filter kind 'most'; valid: full, alone, alone-network\."):
        load_filter("most")
