"""From results to sentences with figures. Every figure comes from a result; the text of others is always quoted."""

from __future__ import annotations

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.quoting import quoted
from doorward.agents.house.telling.teller import told

__all__ = ["Asked", "Got", "quoted", "told"]
