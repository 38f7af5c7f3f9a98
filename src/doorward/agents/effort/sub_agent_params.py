"""The parameters of requests to a sub-agent, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from doorward.commands.effort_services import RequestKind
from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.upstream.variables import describe_plain_secrets

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(max_length=400)]


class _Params(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    @property
    def target(self) -> str:
        """What the request is about: two open requests about the same server exclude each other."""
        raise NotImplementedError


class SearchParams(_Params, frozen=True, kw_only=True):
    purpose: Annotated[str, Meta(min_length=1, max_length=400)]
    limit: Annotated[int, Meta(ge=1, le=50)] = 10

    @property
    def target(self) -> str:
        return f"search: {_fold(self.purpose)}"


class AddParams(_Params, frozen=True, kw_only=True):
    server_name: Annotated[str, Meta(max_length=200)] = ""
    purpose: Text = ""
    id: Annotated[str, Meta(max_length=31)] = ""
    version: Annotated[str, Meta(max_length=100)] = ""
    args: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    env: dict[str, str] = {}
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool | None = None

    @property
    def target(self) -> str:
        return _fold(self.id or self.server_name or self.purpose)


class TestParams(_Params, frozen=True, kw_only=True):
    server: Name
    calls: bool = True

    @property
    def target(self) -> str:
        return _fold(self.server)


class ServerChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool


class ModifyParams(_Params, frozen=True, kw_only=True):
    server: Name
    changes: ServerChanges

    @property
    def target(self) -> str:
        return _fold(self.server)


class RemoveParams(_Params, frozen=True, kw_only=True):
    server: Name

    @property
    def target(self) -> str:
        return _fold(self.server)


Params = SearchParams | AddParams | TestParams | ModifyParams | RemoveParams
_TYPES: dict[str, type[Params]] = {
    "add_server": AddParams,
    "remove_server": RemoveParams,
    "test_server": TestParams,
    "search_servers": SearchParams,
    "modify_server": ModifyParams,
}


def parse_params(kind: RequestKind | str, given: Mapping[str, Any]) -> Params:
    """Check the parameters of a request. The error says what is wrong, what is valid and what was given."""
    wanted = _TYPES.get(kind)
    if wanted is None:
        raise BadParams(f"Unknown kind of request {shorten(kind)}. Kinds: {', '.join(_TYPES)}.")
    valid = ", ".join(field.encode_name for field in msgspec.structs.fields(wanted))
    try:
        params = msgspec.convert(given, wanted)
    except msgspec.ValidationError as error:
        names = ", ".join(shorten(str(name), 40) for name in given) or "nothing"
        raise BadParams(f"{kind}: {error}. It takes {valid}; given: {names}.") from error
    if isinstance(params, AddParams):
        _check_addition(params)
    return params


def _check_addition(params: AddParams) -> None:
    if not (params.server_name.strip() or params.purpose.strip()):
        raise BadParams("add_server needs serverName, or a purpose by which a server is found; given: neither.")
    plain = describe_plain_secrets({"env": params.env, "args": params.args})
    if plain:
        raise BadParams(f"add_server takes no secrets: {'; '.join(plain)}.")


def _fold(text: str) -> str:
    return " ".join(text.lower().split())
