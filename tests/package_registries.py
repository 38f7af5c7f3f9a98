"""The package registries that this machine reaches, as settings under which a house may reach them too."""

from __future__ import annotations

import ipaddress
import socket

from doorward.config.settings import Settings
from doorward.config.settings.upstream import PackageSettings, UpstreamSettings

_HOSTS = PackageSettings().hosts


def with_registries(registry: str = "") -> Settings:
    """Settings for installations; `registry` is the MCP registry. A mirror may have a private address."""
    found = {str(one[4][0]) for host in _HOSTS for one in socket.getaddrinfo(host, 443, proto=socket.IPPROTO_TCP)}
    private = tuple(sorted(one for one in found if not ipaddress.ip_address(one).is_global))
    packages = PackageSettings(registry=registry)
    return Settings(upstream=UpstreamSettings(private_addresses=private, packages=packages))
