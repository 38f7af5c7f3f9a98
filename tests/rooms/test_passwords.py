"""Passwords: which are taken, and how they are kept."""

from __future__ import annotations

import asyncio

import pytest

from doorward.core.errors import BadParams, Overloaded
from doorward.rooms.accounts.passwords import PasswordHasher, check_password


@pytest.mark.parametrize(
    "password",
    ["", "short", "elevenchars", "x" * 1_001, "Anna.Annason", "ＡＮＮＡ．ＡＮＮＡＳＯＮ", "ababababababab"],
    ids=["none", "short", "eleven", "long", "name", "name in other letters", "two letters"],
)
def test_a_password_that_is_easily_guessed_is_refused_and_never_quoted(password: str) -> None:
    with pytest.raises(BadParams) as refusal:
        check_password(password, "anna.annason", "acme")
    assert not password or password not in refusal.value.message


@pytest.mark.parametrize("password", ["four words make one", "пароль из слов", "🔑🚪🏠🔔🔑🚪🏠🔔🔑🚪🏠🔔"])
async def test_a_good_password_fits_its_own_hash_and_no_other(password: str) -> None:
    check_password(password, "anna")
    passwords = PasswordHasher()
    kept = await passwords.hash(password)
    assert kept.startswith("$argon2id$")
    assert password not in kept
    assert await passwords.verify(password, kept)
    assert not await passwords.verify(password + "x", kept)
    assert not await passwords.verify(password, "not a hash")


async def test_the_same_letters_are_the_same_password_however_they_were_typed() -> None:
    passwords = PasswordHasher()
    assert await passwords.verify("cafe\u0301 au lait chaud", await passwords.hash("caf\u00e9 au lait chaud"))


async def test_without_a_hash_nothing_fits_not_even_nothing() -> None:
    passwords = PasswordHasher()
    assert [await passwords.verify(password, None) for password in ("", "x")] == [False, False]


async def test_too_many_at_once_are_refused_instead_of_kept_waiting() -> None:
    passwords = PasswordHasher()
    passwords._places = asyncio.Semaphore(0)
    waiting = [asyncio.ensure_future(passwords.hash("x")) for _ in range(30)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await passwords.hash("x")
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert passwords._waiting == 0
