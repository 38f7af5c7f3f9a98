"""Plans and installs packages of servers, each in a folder of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.config.settings import Settings
from doorward.core.errors import CommandFailed
from doorward.sandbox.sandbox import Sandbox
from doorward.upstream.packages import npm, pypi
from doorward.upstream.packages.addresses import find_addresses
from doorward.upstream.packages.installation import Staging, load_plan, save_plan
from doorward.upstream.packages.package_manager import PackageManager
from doorward.upstream.packages.plan import InstallPlan, PackageChoice

Report = Callable[[float, str], None]
"""Takes the progress from 0 to 1 with a message."""


class Installer:
    def __init__(self, home: Path, sandbox: Sandbox, settings: Settings, environment: Mapping[str, str]) -> None:
        self._home = home
        self._sandbox = sandbox
        self._settings = settings
        self._addresses = find_addresses(settings.upstream.packages, environment)

    async def make_plan(self, id: str, choice: PackageChoice) -> InstallPlan:
        """Resolve a package to exact versions and hashes. Nothing is installed."""
        choice.check()
        manager = self._manager(id)
        await manager.check_sandbox()
        async with Staging(self._home, id, plans=True) as staging:
            make = npm.make_plan if choice.registry_type == "npm" else pypi.make_plan
            plan = await make(manager, staging.path, id, choice)
        await asyncio.to_thread(save_plan, self._home, plan.digest, msgspec.json.encode(plan))
        return plan

    async def load_plan(self, digest: str) -> InstallPlan | None:
        """A plan that was made before, by its digest; None if it is not kept any more."""
        text = await asyncio.to_thread(load_plan, self._home, digest) if digest else None
        try:
            plan = msgspec.json.decode(text, type=InstallPlan) if text is not None else None
        except msgspec.MsgspecError:
            return None
        return plan if plan is not None and plan.digest == digest else None

    async def install(self, staging: Staging, plan: InstallPlan, report: Report) -> tuple[Path, dict[str, Any]]:
        """Install the plan into its folder. Returns the folder, and the command of the server for its entry."""
        manager = self._manager(plan.id)
        await manager.check_sandbox()
        try:
            for name, text in plan.files.items():
                (staging.path / name).write_text(text, "utf-8")
        except OSError as error:
            raise CommandFailed(f"The plan cannot be written: {error.strerror}. Nothing was installed.") from error
        folder = staging.choose_folder(plan.package.version)
        count = len(plan.packages)
        report(0.4, f"installing {count} package{'s' if count != 1 else ''}")
        if plan.registry_type == "npm":
            await npm.install(manager, staging.path, plan)
            program = await npm.find_program(manager, staging.path, folder, plan)
        else:
            await pypi.install(manager, staging.path, plan)
            program = pypi.find_program(staging.path, folder, plan)
        staging.complete(folder)
        return folder, program

    def _manager(self, id: str) -> PackageManager:
        return PackageManager(self._sandbox, self._settings, self._addresses, id)
