"""Commands model/*: list the available models, and test one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.commands.agent_services import ModelTrial, ProviderFacts
from doorward.commands.context import Context, Listing, make_listing
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo

family = Family("model", category="personas")


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which models can personas use", {})],
    related=["model/test", "persona/list"],
    humans_only=True,
    server_wide=True,
)
async def list_models(ctx: Context) -> Listing[ProviderFacts]:
    """List the model providers, their addresses, and whether their API keys are set. Keys are never shown."""
    return make_listing(ctx.services.models.providers())


@family.command(
    "test",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.OPEN_WORLD,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("the provider received the request and may charge for it"),
    examples=[Example("does the built-in model answer", {"model": "house"})],
    related=["model/list"],
    humans_only=True,
    server_wide=True,
    is_status_poll=True,
)
async def test_model(
    ctx: Context,
    model: Annotated[
        str, Meta(description="The model's name, such as house or openai:gpt-4o-mini", min_length=1, max_length=240)
    ],
) -> ModelTrial:
    """Test a model: ask it for one sentence, and show the start of its answer or the error.

    No room content is sent. The provider may charge for the answer.
    """
    return await ctx.services.models.trial(model)
