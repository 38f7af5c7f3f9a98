"""The command agent/ask: the keeper carries out a request written in plain words."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.commands.agent_services import FAILED_OUTCOMES, KeeperAnswer
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.errors import BadParams, CommandFailed

family = Family("agent", category="keeper")

LONGEST_PROMPT = 20_000
LONGEST = 900.0
"""Seconds. The keeper's own time limit is a setting below this, so that the keeper can report the timeout itself."""
Prompt = Annotated[
    str,
    Meta(description="Your request in plain words; optional with a ticket", max_length=LONGEST_PROMPT),
]


@family.command(
    "ask",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=LONGEST,
    undo=NoUndo("undo the calls that the keeper made, one by one"),
    examples=[
        Example("ask the keeper a question", {"prompt": "how many rooms do we have"}),
        Example("continue after an approval", {"session": "Zx81kQpn5_aTt0Lw2mRe", "ticket": "01k9x2m4q7ab3cde"}),
    ],
    related=["help/search", "approval/list"],
    runs_agent=True,
    wire="doorward_agent",
)
async def ask(
    ctx: Context,
    prompt: Prompt = "",
    session: Annotated[
        str, Meta(description="The session to continue, from an earlier answer; a new one if omitted", max_length=64)
    ] = "",
    model: Annotated[
        str, Meta(description="The keeper's model, such as house; from the settings if omitted", max_length=250)
    ] = "",
    ticket: Annotated[
        str, Meta(description="The ticket of a call that waited for approval and is now decided", max_length=64)
    ] = "",
) -> KeeperAnswer:
    """Ask the keeper in plain words to do something. It finds the commands, runs them as you, and answers.

    Every command it runs is checked and recorded like any other call. The answer lists each call with its real input
    and output. A call that destroys something, reaches beyond this machine or cannot be undone waits for approval. When
    it is approved, run agent/ask again with the ticket and the session.
    """
    if not prompt.strip() and not ticket:
        raise BadParams("agent/ask needs a `prompt` or the `ticket` of a call that waited. Both are empty.")
    if ticket and not session:
        raise BadParams(
            "agent/ask: a ticket belongs to the session that returned it. Give that session as `session` "
            "(`sessionId` over REST)."
        )
    answer = await ctx.services.keeper.answer(ctx, prompt, session=session, model=model, ticket=ticket)
    if answer["ended"] in FAILED_OUTCOMES:
        raise CommandFailed(answer.get("error", "The keeper did not finish."), result=answer)
    return answer
