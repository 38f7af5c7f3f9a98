"""Commands model/*: find the models of this machine, test one, choose the default, and add files."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.commands.agent_services import AvailableModels, ModelAddition, ModelTrial, ModelUse, ProviderFacts
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
    related=["model/find", "model/test", "persona/list"],
    humans_only=True,
    server_wide=True,
)
async def list_models(ctx: Context) -> Listing[ProviderFacts]:
    """List the model providers in the settings, their addresses, prices, and whether their API keys are set.

    Keys are never shown.
    """
    return make_listing(ctx.services.models.providers())


@family.command(
    "find",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.FULL,
    safety=Safety.SAFE,
    cost=2,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("which models run on this machine", {})],
    related=["model/list", "model/use", "model/add"],
    humans_only=True,
    server_wide=True,
)
async def find_models(ctx: Context) -> AvailableModels:
    """Find models: in the settings, on model servers of this machine, in GGUF files, and services whose key is set.

    Only this machine is asked, on the usual ports of Ollama, llama.cpp, LM Studio and vLLM. No key is sent or shown.
    """
    found = await ctx.services.models.setup.find()
    return {**found, "keeper": ctx.services.settings.keeper.model}


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
    """Test a model with three requests: an answer from a result, a call, and an honest answer where nothing is known.

    It shows whether each answer is right, its time and its tokens. No room content is sent. The provider may charge for
    the answers. A model of a server that model/find found can be tested before it is used.
    """
    return await ctx.services.models.trial(model, ctx.execution.progress)


@family.command(
    "use",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=30,
    undo=NoUndo("run model/use again with the model in `was`"),
    examples=[Example("use a model of Ollama by default", {"model": "ollama:qwen3:4b"})],
    related=["model/find", "model/test", "persona/put"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def use_model(
    ctx: Context,
    model: Annotated[str, Meta(description="The model's name, as model/find shows it", min_length=1, max_length=240)],
) -> ModelUse:
    """Make a model the default, for the keeper and for personas whose model is `default`, in doorward.toml and at once.

    A server that model/find found, or a known service whose key is set, is added to the settings.
    """
    return await ctx.services.models.setup.use(ctx, model)


@family.command(
    "add",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=5,
    timeout=21_600,
    undo=NoUndo("remove its table in doorward.toml, and its file if it was downloaded"),
    examples=[Example("add a model file", {"source": "/models/qwen3-4b-instruct-q4_k_m.gguf", "name": "small"})],
    related=["model/find", "model/use"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def add_model(
    ctx: Context,
    source: Annotated[
        str,
        Meta(
            description="A GGUF file as an absolute path, or an https address to download",
            min_length=1,
            max_length=4_000,
        ),
    ],
    name: Annotated[
        str, Meta(description="The name, for local:NAME; made from the file's name if omitted", max_length=64)
    ] = "",
    sha256: Annotated[str, Meta(description="The checksum that the file must have", max_length=64)] = "",
) -> ModelAddition:
    """Add a model in a GGUF file as local:NAME: a file of this machine, or one that is downloaded to the home folder.

    A download appears only when it is whole and its checksum is right. Nothing is overwritten.
    """
    return await ctx.services.models.setup.add(ctx, source, name, sha256)
