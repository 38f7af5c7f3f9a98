"""An example plugin: a family of one command."""

from typing import Annotated

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family

family = Family("greet", category="examples")


@family.command(
    "hello",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("greet Ada", {"name": "Ada"})],
)
async def hello(
    ctx: Context, name: Annotated[str, Meta(description="Whom to greet", min_length=1, max_length=100)]
) -> dict[str, str]:
    """Greet somebody by name."""
    return {"greeting": f"Hello, {name}!", "from": ctx.caller.id}
