"""The collections that an agent may list, profiled as context for its model.

They are context like the members of a room: reading them is no call, and what the agent could not list is left out.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Sequence

from doorward.commands.context import Services
from doorward.core.command import Command
from doorward.core.errors import DoorwardError
from doorward.core.model import Caller
from doorward.gate.recipes.policy import Policy
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.collection_profiles import CollectionProfile
from doorward.store.profile_reader import ProfileCache, profile_all
from doorward.store.scope import Scope
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

_LIST = "data/list"
_CACHES: weakref.WeakKeyDictionary[Store, ProfileCache] = weakref.WeakKeyDictionary()


async def profile_data(
    services: Services, caller: Caller, policy: Policy | None, offered: Sequence[Command]
) -> tuple[CollectionProfile, ...]:
    """Profile the collections that this caller may list without approval, under the recipe of its room."""
    command = find_free_command(_LIST, policy, offered)
    if command is None or not caller.tenant:
        return ()
    restricted = policy.restricted_parameters(command) if policy is not None else frozenset()
    if restricted - {"collection"}:
        return ()

    def is_wanted(collection: str) -> bool:
        return policy is None or policy.rule_on_call(command, {"collection": collection}).allowed

    catalogue = CollectionCatalogue(
        home=services.home,
        house=services.store.path,
        settings=services.settings.data,
        scope=Scope.of(caller),
        secrets={one.name: one.secret for one in services.registry if one.secret},
    )
    cache = _CACHES.setdefault(services.store, ProfileCache())
    try:
        return await asyncio.to_thread(profile_all, catalogue, cache, is_wanted)
    except DoorwardError as error:
        log.info("the collections cannot be profiled: %s", error.message)
        return ()


def find_free_command(name: str, policy: Policy | None, offered: Sequence[Command]) -> Command | None:
    """Return an offered command if it runs without approval; else None."""
    command = next((one for one in offered if one.name == name), None)
    if command is None or command.asks_first or (policy is not None and policy.approval_terms(command) is not None):
        return None
    return command
