"""A test run of a small project in the sandbox's profile build, beside the same run that nothing confines."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import msgspec

from bench.confined import scratch_sandbox
from bench.sizes import Sizes
from doorward.config.settings.sandbox import BuildSettings
from doorward.sandbox import view
from doorward.sandbox.program import Program, ProgramLimits, SandboxProfile
from doorward.sandbox.sandbox import Sandbox

_PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
"""pytest and all it imports."""
RUN_TESTS = (
    "import sys; sys.path.insert(0, 'lib'); import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
)
_FILES = 10
_ROUNDS = 3
"""Each takes seconds."""
_TEST = """
def test_{number}():
    file = pathlib.Path("written-{number}.json")
    for _ in range(3):
        file.write_text(json.dumps({{str(key): key for key in range(200)}}))
        assert len(json.loads(file.read_text())) == 200
"""


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_compare(folder / "builds", sizes))


async def _compare(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Both ways in turn, so that a busy machine slows both."""
    python, _ = view.find_python()
    argv = (python, "-I", "-S", "-B", "-c", RUN_TESTS)
    async with scratch_sandbox(folder) as (sandbox, profile):
        workspace = Path(profile.workspace)
        await asyncio.to_thread(make_project, workspace, sizes.tests)
        profile = msgspec.structs.replace(profile, files="write", name="build", limits=_limits())
        bare, confined = [], []
        await _run_confined(sandbox, profile, argv)
        for _ in range(min(_ROUNDS, sizes.rounds)):
            bare.append(await asyncio.to_thread(_run_bare, workspace, argv))
            confined.append(await _run_confined(sandbox, profile, argv))
    return {
        "tests_bare": statistics.median(bare),
        "tests": statistics.median(confined),
        "tests_of_bare": statistics.median(one / other for one, other in zip(confined, bare, strict=True)),
    }


def _limits() -> ProgramLimits:
    settings = BuildSettings()
    return ProgramLimits(**{name: getattr(settings, name) for name in ProgramLimits.__struct_fields__})


def make_project(folder: Path, tests: int) -> None:
    """Make a project with pytest beside it and so many tests."""
    for name in _PACKAGES:
        found = importlib.util.find_spec(name)
        if found is None:
            raise RuntimeError(f"a test run was to be measured, but {name} is not installed")
        place = folder / "lib" / name
        if found.submodule_search_locations:
            shutil.copytree(found.submodule_search_locations[0], place)
        else:
            shutil.copy(str(found.origin), folder / "lib")
    for number in range(_FILES):
        mine = range(number, tests, _FILES)
        text = "import json\nimport pathlib\n" + "".join(_TEST.format(number=one) for one in mine)
        (folder / f"test_{number}.py").write_text(text)


def _run_bare(folder: Path, argv: tuple[str, ...]) -> float:
    begun = time.perf_counter()
    subprocess.run(argv, cwd=folder, env=view.make_environment(str(folder)), capture_output=True, check=True)
    return time.perf_counter() - begun


async def _run_confined(sandbox: Sandbox, profile: SandboxProfile, argv: tuple[str, ...]) -> float:
    begun = time.perf_counter()
    ended = await sandbox.run(profile, Program(argv=argv, seconds=600.0))
    if ended.exit_code != 0:
        raise RuntimeError(f"a test run was to be measured, but it ended with {ended.exit_code}")
    return time.perf_counter() - begun
