"""The list of the models that people can use here: in the settings, on servers, in files, and with keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doorward.agents.models.file_discovery import FoundFiles
from doorward.agents.models.gguf_header import BadGguf, read_header
from doorward.agents.models.model import ModelFailed
from doorward.agents.models.prices import FREE, ModelPrice, find_context, find_price, known_services
from doorward.agents.models.provider import ModelProvider, load_key
from doorward.agents.models.server_discovery import FoundServer
from doorward.commands.agent_services import AvailableModel, AvailableModels, KeyFacts, PriceFacts
from doorward.config.settings import ModelSettings
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.http_client import redact_url

if TYPE_CHECKING:
    from doorward.agents.models.registry import ModelRegistry


def provider_name(server: FoundServer, servers: Sequence[FoundServer], settings: ModelSettings) -> str:
    """Return the name of a server's provider: that in the settings, or the usual one, which may need its port."""
    for name, one in settings.providers.items():
        if one.base_url.rstrip("/").replace("//localhost:", "//127.0.0.1:") == server.base_url:
            return name
    usual = server.program.id
    first = next(one for one in servers if one.program.id == usual)
    return usual if usual not in settings.providers and first is server else f"{usual}-{server.port}"


def price_facts(price: ModelPrice | None) -> PriceFacts | None:
    return None if price is None else {"input": price.input, "output": price.output}


def list_available(
    registry: ModelRegistry, servers: Sequence[FoundServer], files: FoundFiles, environment: Mapping[str, str]
) -> AvailableModels:
    """List everything, models in the settings first. This call blocks."""
    settings = registry.current_settings
    items = [_describe("house", "house", "this process", configured=True)]
    items += _list_local(registry)
    items += _list_files(settings, files)
    served = list(_list_served(servers, settings))
    named = {one["name"] for one in served}
    items += served
    for provider in registry.configured_providers():
        if provider.model and f"{provider.name}:{provider.model}" not in named:
            items.append(_describe_service(provider, provider.model, settings, environment))
    chosen = registry.resolve_default()
    id, _, model = chosen.partition(":")
    for provider in registry.configured_providers():
        if provider.name == id and model and all(one["name"] != chosen for one in items):
            items.append(_describe_service(provider, model, settings, environment))
    for one in items:
        one["isDefault"] = one["name"] == chosen
    notes = [f"{one.address}: {one.problem}" for one in servers if one.problem]
    if not files.complete:
        notes.append("Not all folders were searched for files: there are too many entries.")
    return {
        "items": items,
        "keys": _list_keys(registry, environment),
        "default": settings.default,
        "keeper": "",
        "notes": notes,
    }


def _list_local(registry: ModelRegistry) -> Iterator[AvailableModel]:
    for model in registry.local_models():
        item = _describe(model.name, "file", model.file, configured=True, context=model.context)
        try:
            header = read_header(Path(model.file))
            item["bytes"], item["parameters"] = header.bytes, header.parameters or None
        except BadGguf as error:
            item["problem"] = f"The file {error}."
        else:
            item["problem"] = registry.problem(model.name)
        yield item


def _list_files(settings: ModelSettings, files: FoundFiles) -> Iterator[AvailableModel]:
    known = {Path(one.file).resolve() for one in settings.local.values() if one.file}
    for found in files.files:
        if found.path.resolve() not in known:
            yield _describe(
                "",
                "file",
                str(found.path),
                bytes=found.bytes,
                parameters=found.header.parameters,
                context=found.header.context,
            )


def _list_served(servers: Sequence[FoundServer], settings: ModelSettings) -> Iterator[AvailableModel]:
    for server in servers:
        name = provider_name(server, servers, settings) if not server.problem else ""
        for model in server.models:
            yield _describe(
                f"{name}:{model.id}",
                "server",
                f"{server.program.title} at {server.address}",
                configured=name in settings.providers,
                bytes=model.bytes,
                parameters=model.parameters,
                context=model.context,
            )


def _describe_service(
    provider: ModelProvider, model: str, settings: ModelSettings, environment: Mapping[str, str]
) -> AvailableModel:
    """Describe a model that no server on a usual port offers now."""
    problem = ""
    try:
        provider.address(with_key=bool(load_key(provider, environment)))
    except ModelFailed as error:
        problem = error.message
    return _describe(
        f"{provider.name}:{model}",
        "service" if provider.is_remote else "server",
        redact_url(provider.base_url),
        configured=True,
        context=find_context(provider, model),
        price=find_price(provider, model, settings.prices),
        problem=problem,
    )


def _list_keys(registry: ModelRegistry, environment: Mapping[str, str]) -> list[KeyFacts]:
    usable = {one.key_variable: one.name for one in registry.configured_providers()}
    found = dict.fromkeys([*usable, *(one.key for one in known_services())])
    names = {one.key: one.name for one in known_services()} | usable
    return [
        {"variable": variable, "provider": names[variable], "configured": variable in usable}
        for variable in found
        if environment.get(variable)
    ]


def _describe(
    name: str,
    kind: str,
    where: str,
    *,
    configured: bool = False,
    bytes: int = 0,
    parameters: int = 0,
    context: int = 0,
    price: ModelPrice | None = FREE,
    problem: str = "",
) -> AvailableModel:
    return {
        "name": name,
        "kind": kind,  # type: ignore[typeddict-item]
        "where": escape_invisible(where, lines=False),
        "configured": configured,
        "isDefault": False,
        "bytes": bytes or None,
        "parameters": parameters or None,
        "context": context or None,
        "price": price_facts(price),
        "problem": problem,
    }
