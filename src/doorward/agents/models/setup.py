"""Set models up: find what is on this machine, choose the default, and add files."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from doorward.agents.models import download, server_discovery
from doorward.agents.models.available import list_available, provider_name
from doorward.agents.models.file_discovery import FoundFiles, count_bytes, find_files
from doorward.agents.models.gguf_header import BadGguf, GgufHeader, read_header
from doorward.agents.models.local_process import available_memory
from doorward.agents.models.model import Model, ModelFailed
from doorward.agents.models.prices import known_services
from doorward.agents.models.server_discovery import FoundServer, ServerProgram
from doorward.commands.agent_services import AvailableModels, ModelAddition, ModelUse
from doorward.commands.context import Context
from doorward.config.settings import LocalModelSettings, ModelSettings, ProviderSettings
from doorward.config.settings.edit import Value, change_settings
from doorward.core.command import shorten
from doorward.core.errors import BadParams, Conflict
from doorward.rooms.people import LOCAL
from doorward.upstream.outbound import OutboundPolicy

if TYPE_CHECKING:
    from doorward.agents.models.registry import ModelRegistry

DEFAULT = "default"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_USUAL_CONTEXT = LocalModelSettings().context


class ModelSetup:
    def __init__(
        self,
        registry: ModelRegistry,
        environment: Mapping[str, str],
        home: Path | None,
        programs: tuple[ServerProgram, ...] = server_discovery.PROGRAMS,
    ) -> None:
        """Without a `home` folder, nothing can be written."""
        self._registry = registry
        self._environment = environment
        self._home = home
        self.programs = programs
        self._adding = False
        self._writing = asyncio.Lock()

    async def find(self) -> AvailableModels:
        """Find the servers, files and keys on this machine, beside the models in the settings."""
        servers, files = await asyncio.gather(
            server_discovery.find_servers(self.programs), asyncio.to_thread(self._find_files)
        )
        return await asyncio.to_thread(list_available, self._registry, servers, files, self._environment)

    def _find_files(self) -> FoundFiles:
        account = Path(self._environment.get("HOME") or os.path.expanduser("~"))
        return find_files(account, *([self._home / "models"] if self._home is not None else []))

    async def find_model(self, name: str) -> Model:
        """Return the model of this name, also of a server or service that the settings do not name yet."""
        return (await self._find_with_provider(name))[0]

    async def _find_with_provider(self, name: str) -> tuple[Model, ProviderSettings | None]:
        """Return a model, and the settings of its provider if they are new. Raises `ModelFailed`."""
        try:
            return self._registry.find(name), None
        except ModelFailed as error:
            found = await self._find_provider(name) if error.fault == "unknown" else None
            if found is None:
                raise
            return self._registry.with_provider(name.partition(":")[0], found).find(name), found

    async def use(self, ctx: Context, name: str) -> ModelUse:
        """Make a model the default, and that of the keeper. The settings file is changed, and so is this process."""
        home = self._writable_home()
        if name == DEFAULT:
            raise BadParams("Name the model that becomes the default; `default` is the default itself.")
        was, current = self._registry.current_settings.default, ctx.services.settings
        changes: dict[tuple[str, ...], Value] = {("models", "default"): name}
        models = self._registry.current_settings
        try:
            model, provider = await self._find_with_provider(name)
        except ModelFailed as error:
            raise BadParams(error.message, hint="`doorward models` lists the models.") from None
        if provider is not None:
            id = name.partition(":")[0]
            models = msgspec.structs.replace(models, providers={**models.providers, id: provider})
            for field in ("kind", "base_url", "key_env", "needs_key"):
                if (value := getattr(provider, field)) != getattr(ProviderSettings(), field):
                    changes["models", "providers", id, field] = value
        if current.keeper.model != DEFAULT:
            changes["keeper", "model"] = DEFAULT
        await self._change_settings(home, changes)
        self._configure(ctx, msgspec.structs.replace(models, default=name), keeper=DEFAULT)
        return {
            "model": name,
            "was": was,
            "file": str(home / "doorward.toml"),
            "changed": [".".join(path) for path in changes],
            "notes": self._describe_use(ctx, model),
        }

    def _describe_use(self, ctx: Context, model: Model) -> list[str]:
        notes = ["It is in force now, for the keeper and for personas whose model is `default`."]
        own = [one for one in ctx.services.personas.all(LOCAL) if one.model != DEFAULT]
        if own:
            listed = ", ".join(f"{one.id} ({one.model})" for one in own)
            notes.append(f"These personas name their own model and keep it: {listed}.")
        if getattr(model, "is_remote", False):
            notes.append(f"{model.name} is on another machine: requests and command output are sent there.")
        return notes

    async def add(self, ctx: Context, source: str, name: str, sha256: str) -> ModelAddition:
        """Add a GGUF file as a local model: one on this machine, or one to download."""
        home = self._writable_home()
        if sha256 and not _SHA256.fullmatch(sha256):
            raise BadParams(f"A sha256 checksum has 64 hexadecimal digits; given {shorten(sha256)}.")
        remote = "://" in source
        name = name or _suggest_name(urlsplit(source).path if remote else source)
        if not _NAME.fullmatch(name):
            raise BadParams(
                "The name of a model has at most 64 lower-case letters, digits, dots, dashes and underscores, and "
                f"begins with a letter or a digit; given {shorten(name)}."
            )
        if self._adding:
            raise Conflict("Another model is being added. Wait until it is done.")
        self._adding = True
        try:
            if taken := self._registry.current_settings.local.get(name):
                raise Conflict(
                    f"There is a model local:{name} already, with the file {taken.file}.",
                    hint="Choose another name with --name.",
                )
            if remote:
                file, found = await self._download(ctx, source, home / "models" / f"{name}.gguf", sha256.lower())
            else:
                file, found = await self._check_file(ctx, source, sha256.lower())
            return await self._register(ctx, home, name, file, found)
        finally:
            self._adding = False

    async def _download(self, ctx: Context, url: str, target: Path, sha256: str) -> tuple[Path, str]:
        download.check_address(url)
        await asyncio.to_thread(download.prepare_target, target)
        settings = ctx.services.settings
        found = await download.download_model(
            url,
            target,
            sha256,
            OutboundPolicy(settings.upstream.private_addresses),
            keep_free=settings.sandbox.keep_free_bytes,
            progress=ctx.execution.progress,
        )
        try:
            await asyncio.to_thread(_read_usable, target)
        except BadParams:
            await asyncio.to_thread(os.unlink, target)
            raise
        return target, found

    async def _check_file(self, ctx: Context, source: str, sha256: str) -> tuple[Path, str]:
        if not os.path.isabs(source) or "\x00" in source:
            raise BadParams(
                "The file must be an absolute path, such as /models/small.gguf, or an address that begins with "
                f"https://; given {shorten(source)}."
            )
        file = Path(source)
        await asyncio.to_thread(_read_usable, file)
        if not sha256:
            return file, ""
        loop = asyncio.get_running_loop()

        def progress(fraction: float | None, message: str) -> None:
            loop.call_soon_threadsafe(ctx.execution.progress, fraction, message)

        found = await asyncio.to_thread(download.hash_file, file, progress)
        if found != sha256:
            raise BadParams(f"The file has another checksum: expected sha256 {sha256}, got {found}.")
        return file, found

    async def _register(self, ctx: Context, home: Path, name: str, file: Path, sha256: str) -> ModelAddition:
        header = await asyncio.to_thread(_read_usable, file)
        size = count_bytes(file)
        context = max(512, min(header.context or _USUAL_CONTEXT, _USUAL_CONTEXT))
        added = LocalModelSettings(file=str(file), context=context)
        changes: dict[tuple[str, ...], Value] = {("models", "local", name, "file"): str(file)}
        if context != _USUAL_CONTEXT:
            changes["models", "local", name, "context"] = context
        await self._change_settings(home, changes)
        models = self._registry.current_settings
        self._configure(ctx, msgspec.structs.replace(models, local={**models.local, name: added}))
        notes = []
        free = available_memory()
        if free is not None and size > free:
            notes.append(f"It needs more memory than is free now: {size // 10**6} MB of {free // 10**6} MB.")
        if problem := self._registry.problem(f"local:{name}"):
            notes.append(problem)
        return {
            "model": f"local:{name}",
            "file": str(file),
            "bytes": size,
            "parameters": header.parameters or None,
            "context": context,
            "sha256": sha256,
            "settings": str(home / "doorward.toml"),
            "notes": notes,
        }

    async def _change_settings(self, home: Path, changes: Mapping[tuple[str, ...], Value]) -> None:
        async with self._writing:
            await asyncio.to_thread(change_settings, home / "doorward.toml", changes)

    def _configure(self, ctx: Context, models: ModelSettings, keeper: str | None = None) -> None:
        """Put changed settings in force in this process."""
        self._registry.configure(models)
        current = ctx.services.settings
        own = current.keeper if keeper is None else msgspec.structs.replace(current.keeper, model=keeper)
        ctx.services.settings = msgspec.structs.replace(current, models=models, keeper=own)

    async def _find_provider(self, name: str) -> ProviderSettings | None:
        """Return settings for a server that runs here, or a known service whose key is set; None if there is none."""
        id, _, model = name.partition(":")
        if id in self._registry.current_settings.providers or not model:
            return None
        servers = await server_discovery.find_servers(self.programs)
        for server in servers:
            if not server.problem and provider_name(server, servers, self._registry.current_settings) == id:
                _check_served(server, id, model)
                return ProviderSettings(base_url=server.base_url, needs_key=False)
        for service in known_services():
            if service.name == id and self._environment.get(service.key):
                return ProviderSettings(base_url=service.base_url, key_env=service.key)
        return None

    def _writable_home(self) -> Path:
        if self._home is None:
            raise Conflict("There is no home folder, so no settings can be changed.")
        return self._home


def _check_served(server: FoundServer, id: str, model: str) -> None:
    if all(one.id != model for one in server.models):
        known = ", ".join(f"{id}:{one.id}" for one in server.models[:10]) or "none"
        raise ModelFailed(
            "unknown", f"{server.program.title} at {server.address} has no model {shorten(model)}; valid: {known}."
        )


def _suggest_name(path: str) -> str:
    stem = re.sub(r"\.gguf$", "", path.rsplit("/", 1)[-1], flags=re.IGNORECASE).lower()
    return re.sub(r"[^a-z0-9._-]+", "-", stem).strip("._-")[:64] or "model"


def _read_usable(file: Path) -> GgufHeader:
    """Return the header of a file that can answer. Raises `BadParams`."""
    try:
        header = read_header(file)
    except BadGguf as error:
        raise BadParams(f"The file {file} {error}.") from None
    if not header.answers:
        raise BadParams(f"The file {file} is a model of the kind {shorten(header.architecture)}, which cannot answer.")
    return header
