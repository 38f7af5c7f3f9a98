"""The limit in money for models on other machines, and what answers cost."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from raw_provider import KEY, PROMPT, RawProvider, answers, asked, raw_provider, status

from doorward.agents.models.daily_spending import DailySpending
from doorward.agents.models.model import ModelFailed
from doorward.agents.models.prices import find_context, find_price, known_services
from doorward.agents.models.provider import ModelProvider
from doorward.agents.models.registry import ModelRegistry
from doorward.agents.models.remote import RemoteModel
from doorward.config.settings import ModelSettings as Limits
from doorward.config.settings import ProviderSettings
from doorward.core.errors import LedgerUnavailable
from doorward.store.sqlite import Store

pytestmark = pytest.mark.anyio
DAY = 86_400.0
PRICE = {"raw:*": (1_000.0, 10_000.0)}
"""US dollars per million tokens: the 400 and 7 tokens of an answer cost 0.47."""


@pytest.fixture(autouse=True)
def on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider of these tests listens here, and counts as one elsewhere."""
    monkeypatch.setattr(ModelProvider, "is_remote", True)
    monkeypatch.setattr(RemoteModel, "is_remote", True)


class Bank:
    """A store of one text, which can fail, in place of the database."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.broken = False
        self.now = 20_000 * DAY

    def spending(self) -> DailySpending:
        return DailySpending(cast(Store, self), lambda: self.now)

    async def read(self, *_: Any) -> list[dict[str, str]]:
        return [{"body": self.text}] if self.text is not None else []

    async def write(self, statement: Any) -> None:
        if self.broken:
            raise LedgerUnavailable("The disk is full.")
        self.text = statement.params[1]


def models(provider: RawProvider, bank: Bank, **more: Any) -> ModelRegistry:
    configured = Limits(providers={"raw": ProviderSettings(base_url=provider.url)}, **more)
    return ModelRegistry(configured, {"RAW_API_KEY": KEY}, spending=bank.spending())


def short(tokens: int) -> Any:
    return msgspec.structs.replace(PROMPT, most_tokens=tokens)


async def test_answers_are_counted_in_money_until_the_limit_of_the_day_is_reached() -> None:
    bank = Bank()
    async with raw_provider("openai") as provider:
        registry = models(provider, bank, prices=PRICE, dollars_per_day=1.0)
        for _ in range(2):
            got = await asked(registry, "raw:m", short(7))
            assert got.spent is not None
            assert got.spent.dollars == pytest.approx(0.47)
        got = await asked(registry, "raw:m", short(7))
        assert got.failed is not None
        assert got.failed.fault == "not_allowed"
        assert "$0.9400 of $1 are spent today" in got.failed.message
        assert "models.dollars_per_day" in got.failed.message
        assert len(provider.heard) == 2, "it was not asked"
        again = models(provider, bank, prices=PRICE, dollars_per_day=1.0)
        assert (await asked(again, "raw:m", short(7))).failed is not None, "a restart does not forget"
        bank.now += DAY
        assert (await asked(again, "raw:m", short(7))).failed is None


async def test_an_answer_that_could_exceed_the_limit_is_not_asked_for() -> None:
    async with raw_provider("openai") as provider:
        registry = models(provider, Bank(), prices=PRICE, dollars_per_day=1.0)
        got = await asked(registry, "raw:m", short(1_000))
        assert got.failed is not None
        assert "could cost $10." in got.failed.message
        assert not provider.heard


async def test_without_a_known_price_or_a_store_the_limit_fails_closed() -> None:
    bank = Bank()
    async with raw_provider("openai") as provider:
        unknown = await asked(models(provider, bank, dollars_per_day=1.0), "raw:m")
        assert unknown.failed is not None
        assert "its price is not known" in unknown.failed.message
        bank.broken = True
        unstored = await asked(models(provider, bank, prices=PRICE, dollars_per_day=100.0), "raw:m")
        assert unstored.failed is not None
        assert "cannot be read or stored" in unstored.failed.message
        bank.broken, bank.text = False, "{"
        unread = await asked(models(provider, bank, prices=PRICE, dollars_per_day=100.0), "raw:m")
        assert unread.failed is not None
        assert not provider.heard


async def test_a_refused_answer_costs_nothing_and_one_that_breaks_off_its_highest_price() -> None:
    bank = Bank()
    async with raw_provider("openai") as provider:
        registry = models(provider, bank, prices=PRICE, dollars_per_day=100.0)
        provider.script = status(401, {"error": {"message": "no"}})
        assert (await asked(registry, "raw:m", short(7))).failed is not None
        assert msgspec.json.decode(bank.text or "")["dollars"] == 0
        provider.script = status(500, {"error": {"message": "broken"}})
        assert (await asked(registry, "raw:m", short(7))).failed is not None
        assert 0.07 < msgspec.json.decode(bank.text or "")["dollars"] < 1


async def test_without_a_limit_an_unknown_price_is_only_not_shown() -> None:
    bank = Bank()
    async with raw_provider("openai") as provider:
        provider.script = answers("Hi.")
        got = await asked(models(provider, bank), "raw:m")
        assert (got.text, got.spent and got.spent.dollars) == ("Hi.", None)
        assert bank.text is None


def test_prices_are_known_by_the_host_of_a_service_and_the_name_of_a_model() -> None:
    def at(url: str, model: str) -> Any:
        provider = ModelProvider(name="any", settings=ProviderSettings(base_url=url), model="")
        return find_price(provider, model), find_context(provider, model)

    price, context = at("https://api.openai.com/v1", "gpt-4o-mini-2024-07-18")
    assert price is not None
    assert (price.input, price.output, context) == (0.15, 0.6, 128_000)
    assert at("", "gpt-4o-mini")[0] == price
    assert at("https://openai.example/v1", "gpt-4o-mini") == (None, 0)
    assert at("https://api.openai.com/v1", "gpt-4o-mini-of-mine") == (None, 0)
    assert price.cost(1_000_000, 1_000_000) == 0.75


def test_the_packaged_prices_are_whole() -> None:
    names = [one.name for one in known_services()]
    assert len(names) == len(set(names))
    for service in known_services():
        assert service.base_url.startswith("https://")
        assert service.key.endswith("_API_KEY")
        for model, (taken, given, context) in service.models.items():
            assert 0 < taken < 1_000, model
            assert 0 < given < 1_000, model
            assert context >= 0


async def test_the_count_of_the_day_is_kept_in_the_home_folder(opened: Any) -> None:
    async with opened() as driver:
        await DailySpending(driver.house.services.store, driver.clock.now).reserve("a:b", 0.9, 1.0)
    async with opened() as driver:
        with pytest.raises(ModelFailed, match=r"\$0\.9000 of \$1 are spent today"):
            await DailySpending(driver.house.services.store, driver.clock.now).reserve("a:b", 0.2, 1.0)
