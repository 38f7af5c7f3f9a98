"""agent/ask: say in plain words what is wanted, and the keeper does it by calls of its own."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.keeper_desk import FELL_SHORT, Answer
from doorward.command import Example, Family, NoUndo
from doorward.errors import BadParams, CommandFailed
from doorward.facts import Access, Effects, Safety, Tier

family = Family("agent", category="keeper")

LONGEST_PROMPT = 20_000
LONGEST = 900.0
"""Seconds; the setting for how long the keeper may take is below it, so that it can say itself that time is up."""
Prompt = Annotated[
    str,
    Meta(description="What you want, in plain words; may be left out beside a ticket", max_length=LONGEST_PROMPT),
]


@family.command(
    "ask",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=LONGEST,
    undo=NoUndo("what its calls change is theirs to undo"),
    examples=[
        Example("let the keeper do something", {"prompt": "how many rooms do we have"}),
        Example("go on with what a person approved", {"session": "Zx81kQpn5_aTt0Lw2mRe", "ticket": "01k9x2m4q7ab3cde"}),
    ],
    related=["help/search", "approval/list"],
    thinks=True,
    wire="doorward_agent",
)
async def ask(
    ctx: Context,
    prompt: Prompt = "",
    session: Annotated[
        str, Meta(description="Goes on in that session, which an earlier answer named; else a new one", max_length=64)
    ] = "",
    model: Annotated[
        str, Meta(description="What the keeper thinks with, such as house; else as the settings say", max_length=250)
    ] = "",
    ticket: Annotated[
        str, Meta(description="Goes on with the call that waited, once a person has decided about it", max_length=64)
    ] = "",
) -> Answer:
    """Say in plain words what you want; the keeper finds the commands, runs them as far as you may, and answers.

    Everything it does is a call of its own, checked and recorded like any other, and the answer shows each with what
    really went in and came out. Whatever destroys something, reaches beyond this machine or cannot be undone waits for
    a person first; give the ticket and the session again once it is approved.
    """
    if not prompt.strip() and not ticket:
        raise BadParams("agent/ask: say in `prompt` what you want, or give a `ticket` of what waited; both are empty.")
    if ticket and not session:
        raise BadParams(
            "agent/ask: a ticket goes on in the session that it was given in; name it as `session`, "
            "which is `sessionId` over REST."
        )
    answer = await ctx.house.keeper.answer(ctx, prompt, session=session, model=model, ticket=ticket)
    if answer["ended"] in FELL_SHORT:
        raise CommandFailed(answer.get("error", "The keeper came to no end."), result=answer)
    return answer
