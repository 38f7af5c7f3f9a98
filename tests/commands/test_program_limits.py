"""A program that a limit ended says which limit that was, and which setting changes it."""

from __future__ import annotations

from typing import Any

from transaction_house import script

from doorward.config.settings import SandboxSettings, Settings

SMALL = SandboxSettings(
    cpu_seconds=1, memory_bytes=100_000_000, file_bytes=400_000, descriptors=20, scratch_bytes=2_000_000, processes=5
)
PYTHON = "/usr/bin/env python3 -c"
ENDINGS = {
    "head -c 2M /dev/zero > /workspace/large": "larger than 400,000 bytes (setting sandbox.file_bytes)",
    f'trap \'\' XFSZ; {PYTHON} \'open("x", "wb").write(b"0" * 2_000_000)\'': "(setting sandbox.file_bytes)",
    f"{PYTHON} 'bytearray(1_000_000_000)'": "more than 100,000,000 bytes of memory (setting sandbox.memory_bytes)",
    "sh -c 'kill -TRAP $$'; exit $?": "100,000,000 bytes of memory (setting sandbox.memory_bytes)",
    "for n in $(seq 30); do exec {fd}< /dev/null; done": "more than 20 files at once (setting sandbox.descriptors)",
    "for n in $(seq 9); do head -c 390K /dev/zero > /tmp/$n || exit; done": "2,000,000 bytes to its scratch space"
    " (setting sandbox.scratch_bytes)",
    "while :; do :; done": "more than 1 s of processor time (setting sandbox.cpu_seconds)",
}


async def test_the_message_names_the_limit_that_ended_a_program_and_its_setting(opened: Any) -> None:
    async with opened(changes=Settings(sandbox=SMALL)) as driver:
        for text, said in ENDINGS.items():
            outcome = await script(driver, text)
            assert (outcome.status, outcome.code) == ("failed", "command_failed"), (text, outcome)
            assert said in outcome.message, (text, outcome.message)
        for text in ("exit 1", "echo 'no limit' >&2; exit 3"):
            assert "sandbox." not in (await script(driver, text)).message, text
