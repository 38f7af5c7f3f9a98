"""Search the commands that an agent is offered."""

from __future__ import annotations

from collections.abc import Container, Sequence

from doorward.agents.small_models.context import Search
from doorward.commands.context import Services


def search_commands(services: Services, tenant: str) -> Search:
    """Return a search over the commands of a given choice. It blocks, so it runs in a thread."""

    def search(query: str, among: Container[str], limit: int) -> Sequence[tuple[str, float]]:
        return [(one.command, one.score) for one in services.index.hits(query, among, limit, tenant)]

    return search
