"""Where packages come from: the addresses in the settings, those of pip and npm on this machine, or the public ones."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from doorward.config.settings.upstream import PackageSettings
from doorward.core.errors import Unusable
from doorward.core.host_rules import HostRule, HostTerms, parse_rule
from doorward.upstream.http_client import redact_url

_PYTHON, _NPM = "https://pypi.org/simple", "https://registry.npmjs.org"
_PYTHON_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_NPM_VARIABLES = ("npm_config_registry", "NPM_CONFIG_REGISTRY")
_NPM_REGISTRY = re.compile(r"^\s*registry\s*=\s*(\S+)", re.MULTILINE)
_PORTS = {"http": 80, "https": 443}


class PackageAddresses(msgspec.Struct, frozen=True):
    python_index: str
    """The address of the simple index. It can hold a password, so it is never shown."""
    npm_registry: str
    hosts: HostTerms
    """The hosts that an installation may reach."""

    def shown(self, registry_type: str) -> str:
        """The address for people, without a password."""
        return redact_url(self.npm_registry if registry_type == "npm" else self.python_index)


def find_addresses(settings: PackageSettings, environment: Mapping[str, str]) -> PackageAddresses:
    """Find the addresses. Raises Unusable when one of them is not valid."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    python = settings.python_index or _first(environment, _PYTHON_VARIABLES) or _read_pip(home, environment) or _PYTHON
    npm = settings.npm_registry or _first(environment, _NPM_VARIABLES) or _read_npm(home) or _NPM
    rules = [_host_rule(address) for address in (python, npm)]
    for text in settings.hosts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            raise Unusable(f"The setting upstream.packages.hosts has {text!r}: {error}.") from error
    return PackageAddresses(python.rstrip("/"), npm.rstrip("/"), HostTerms(tuple(rules)))


def _host_rule(address: str) -> HostRule:
    try:
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("it is not an http or https address")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return parse_rule(f"{host}:{parts.port or _PORTS[parts.scheme]}")
    except ValueError as error:
        raise Unusable(
            f"The package address {redact_url(address)!r} is not valid: {error}.",
            hint="Set upstream.packages.python_index and upstream.packages.npm_registry to https addresses.",
        ) from error


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _read_pip(home: Path, environment: Mapping[str, str]) -> str:
    """The index of pip's configuration files. What is nearest to the person counts."""
    given = environment.get("PIP_CONFIG_FILE", "")
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    files = (Path(given) if given else None, config / "pip/pip.conf", home / ".pip/pip.conf", Path("/etc/pip.conf"))
    for text in _read(*filter(None, files)):
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(text)
        except configparser.Error:
            continue
        for section in ("install", "global"):
            if found := parser.get(section, "index-url", fallback=""):
                return found
    return ""


def _read_npm(home: Path) -> str:
    files = (home / ".npmrc", Path("/usr/local/etc/npmrc"), Path("/etc/npmrc"))
    found = (_NPM_REGISTRY.search(text) for text in _read(*files))
    return next((match[1].strip("\"'") for match in found if match and "${" not in match[1]), "")


def _read(*files: Path) -> Iterator[str]:
    for file in files:
        try:
            yield file.read_text("utf-8", "replace")
        except OSError:
            continue
