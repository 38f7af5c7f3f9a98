"""Addresses are judged by where a name really leads, in every way of writing them."""

from __future__ import annotations

import ipaddress

import pytest

from doorward.core.errors import Unreachable, Unusable
from doorward.upstream.outbound import ForbiddenAddress, OutboundPolicy, embedded_addresses, is_public

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.88.99.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::808:808",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "2606:4700::5efe:7f00:1",
    "fe80::1",
    "fe80::1%lo",
    "fd00:ec2::254",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


def leading_to(*addresses: str, private: tuple[str, ...] = ()) -> OutboundPolicy:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return OutboundPolicy(private, resolve)


@pytest.mark.parametrize("address", PRIVATE)
async def test_a_name_that_leads_to_a_private_address_is_refused_and_the_sentence_says_where_and_which_setting(
    address: str,
) -> None:
    with pytest.raises(ForbiddenAddress) as refused:
        await leading_to(address).resolve("mcp.example", 443)
    assert address.partition("%")[0] in refused.value.message
    assert "private_addresses" in refused.value.message
    assert refused.value.retry == "after_fix"


@pytest.mark.parametrize("address", PUBLIC)
async def test_a_name_that_leads_to_a_public_address_is_reached_there(address: str) -> None:
    assert await leading_to(address).resolve("mcp.example", 443) == [address]


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(ForbiddenAddress, match=r"10\.0\.0\.1"):
        await leading_to("8.8.8.8", "10.0.0.1").resolve("mcp.example", 443)


async def test_an_address_that_the_operator_wrote_out_is_allowed_there_and_only_there() -> None:
    outbound = leading_to("127.0.0.1")
    assert await outbound.resolve("127.0.0.1", 3000, named=True) == ["127.0.0.1"]
    assert await outbound.resolve("localhost", 3000, named=True) == ["127.0.0.1"]
    with pytest.raises(ForbiddenAddress):
        await outbound.resolve("127.0.0.1", 3000)


async def test_a_name_in_the_configuration_may_not_turn_into_a_private_address() -> None:
    """Whoever runs the name decides where it leads, and that is not the operator."""
    with pytest.raises(ForbiddenAddress):
        await leading_to("127.0.0.1").resolve("rebinding.example", 80, named=True)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "017700000001"])
async def test_odd_spellings_of_this_machine_are_judged_by_what_they_mean(host: str) -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1|could not be resolved"):
        await OutboundPolicy().resolve(host, 80, named=True)


async def test_networks_of_the_setting_are_allowed_also_where_they_hide_in_another_address() -> None:
    outbound = leading_to("::ffff:10.1.2.3", "10.9.9.9", private=("10.0.0.0/8",))
    assert await outbound.resolve("intranet.example", 80) == ["::ffff:10.1.2.3", "10.9.9.9"]
    with pytest.raises(ForbiddenAddress):
        await leading_to("192.168.0.1", private=("10.0.0.0/8", "fd00::/8")).resolve("intranet.example", 80)


def test_a_setting_that_is_no_network_is_refused_with_what_would_be_one() -> None:
    with pytest.raises(Unusable, match=r"10\.0\.0\.0/8.*'intranet'"):
        OutboundPolicy(["intranet"])


async def test_a_name_that_cannot_be_resolved_is_one_clear_error() -> None:
    async def fails(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(Unreachable, match="could not be resolved: Name or service not known"):
        await OutboundPolicy((), fails).resolve("nowhere.invalid", 80)
    with pytest.raises(Unreachable, match="has no address"):
        await leading_to().resolve("empty.example", 80)


def test_every_address_inside_another_counts() -> None:
    inside = [str(form) for form in embedded_addresses(ipaddress.ip_address("64:ff9b::a9fe:a9fe"))]
    assert inside == ["169.254.169.254"]
    assert not is_public(ipaddress.ip_address("169.254.169.254"))
