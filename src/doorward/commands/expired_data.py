"""Deletes expired data: before-images, long results, sessions, and the parameters of expired approvals."""

from __future__ import annotations

import asyncio
import logging

from doorward.commands.context import Services
from doorward.commands.servers.server_file import remove_unused_installations
from doorward.core.errors import LedgerUnavailable
from doorward.store import before_images, idempotency, keeper_waits, long_results

log = logging.getLogger(__name__)

_INTERVAL = 300.0
_KEEPER_STATE_SECONDS = 7 * 86_400.0
"""Seconds after which the keeper's saved state is deleted. Every approval has expired by then."""


async def delete_expired(services: Services) -> None:
    await services.approvals.expire_due()
    limits, now = services.settings.limits, services.clock.now()
    await services.store.write(
        before_images.forget(now - limits.undo_days * 86_400),
        long_results.forget(now - limits.result_hours * 3_600),
        *services.files.cleanup_statements(),
        *services.accounts.cleanup_statements(),
        *services.sessions.delete_expired(),
        keeper_waits.forget(now - _KEEPER_STATE_SECONDS),
        idempotency.forget(now - idempotency.retention_seconds(limits)),
    )
    await remove_unused_installations(services)
    dropped = await before_images.drop_beyond(services.store, limits.undo_bytes)
    if dropped:
        log.info("the undo history of %d executions was dropped (setting limits.undo_bytes)", dropped)


async def delete_expired_periodically(services: Services) -> None:
    """Delete expired data now and then, until cancelled."""
    while True:
        await asyncio.sleep(_INTERVAL)
        try:
            await delete_expired(services)
        except LedgerUnavailable as error:
            log.warning("expired data could not be deleted: %s", error)
