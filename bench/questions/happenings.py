"""What people and agents did in the seeded house: rooms, messages, calls that worked and calls that did not."""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.questions import records
from bench.questions.turned_clock import DAY

PEOPLE = (
    ("anna", "full", "human"),
    ("ben", "edit", "human"),
    ("carla", "read", "human"),
    ("dmitri", "edit", "human"),
    ("ewa", "read", "human"),
    ("till", "edit", "service"),
)
RECIPE = "patient-lab"
RECIPE_TEXT = """{
  "recipeId": "patient-lab",
  "displayName": "Patient lab",
  "description": "AIs read and ask; what they write waits for a person for a day.",
  "strategy": {
    "aiCommands": {
      "enabled": true,
      "tiers": ["information", "code"],
      "whitelist": ["room/say"],
      "requireApproval": {"file/write": {"timeoutSeconds": 86400}, "bash": {"timeoutSeconds": 86400}},
      "maxCommandsPerMinute": 600
    }
  }
}"""
ROOMS = (
    ("workshop", "code-collaboration", "Where the shop is built", ("anna", "ben")),
    ("helpdesk", "support", "Tickets of customers", ("carla", "dmitri", "ewa")),
    ("lab", RECIPE, "Trying things out", ("anna",)),
    ("lounge", "casual-chat", "Nothing in particular", ("ben", "carla")),
)
MESSAGES = (
    ("workshop", 6.4, "The invoice numbers are ready for review."),
    ("workshop", 2.4, "Anna found the login bug, it was the cookie."),
    ("workshop", 0.2, "The winter sale starts on Thursday."),
    ("helpdesk", 3.3, "Four people asked for a refund this morning."),
    ("helpdesk", 0.15, "The refund for Moreau went out."),
    ("lounge", 1.6, "Who ate the last croissant?"),
    ("lounge", 0.1, "There is cake in the kitchen."),
)


class Happening(NamedTuple):
    """One call, when it was made and by whom. An empty `by` is the owner, outside rooms unless one is named."""

    at: float
    command: str
    params: dict[str, Any]
    by: str = ""
    room: str = ""
    status: str = "done"
    """How it must end, so that a change of the house elsewhere does not quietly change what is asked about."""


def all_of(now: float, today: float) -> list[Happening]:
    """Everything that happened, oldest first."""
    begun = now - 61 * DAY
    happened = [Happening(begun, "recipe/put", {"id": RECIPE, "text": RECIPE_TEXT})]
    for id, access, kind in PEOPLE:
        happened.append(Happening(begun + 1, "user/create", {"id": id, "access": access, "kind": kind}))
    for name, recipe, topic, members in ROOMS:
        happened.append(Happening(begun + 2, "room/create", {"name": name, "recipe": recipe, "topic": topic}))
        happened += [Happening(begun + 3, "room/join", {"name": name, "member": one}) for one in members]
    for name, fields in records.SCHEMAS.items():
        schema = {"type": "object", "properties": fields, "required": sorted(fields)}
        happened.append(Happening(begun + 4, "collection/define", {"name": name, "schema": schema}))
    for one in records.made():
        at = records.when(one.age, now, today)
        happened.append(Happening(at, "data/create", {"collection": one.collection, "id": one.id, "data": one.data}))
        if one.changed:
            later = records.when(one.changed_age, now, today)
            change = {"collection": one.collection, "id": one.id, "data": one.changed}
            happened.append(Happening(later, "data/update", change))
    for room, age, text in MESSAGES:
        happened.append(Happening(records.when(age, now, today), "room/say", {"name": room, "text": text}))
    happened += _yesterday(today) + _today(now, today)
    return sorted(happened, key=lambda one: one.at)


def _yesterday(today: float) -> list[Happening]:
    def at(hour: float) -> float:
        return today - DAY + hour * 3_600

    return [
        Happening(at(9), "file/read", {"path": "README.md"}, "scout", "workshop"),
        Happening(at(9.1), "file/read", {"path": "docs/guide.md"}, "scout", "workshop"),
        Happening(at(9.2), "file/list", {"path": "src"}, "scout", "workshop"),
        Happening(at(10), "file/read", {"path": "plans/2027.md"}, "scout", "workshop", "failed"),
        Happening(at(10.5), "data/delete", {"collection": "orders", "id": "o-1001"}, "mason", "workshop", "refused"),
        Happening(at(11), "data/count", {"collection": "orders"}, "mason", "workshop"),
        Happening(at(12), "file/search", {"pattern": "refund"}, "mason", "workshop"),
        Happening(at(13), "file/stat", {"path": "media/outro.mp4"}, "mason", "workshop", "failed"),
    ]


def _today(now: float, today: float) -> list[Happening]:
    def at(share: float) -> float:
        return today + (now - today) * share

    return [
        Happening(at(0.3), "file/read", {"path": "config/settings.json"}, "scout", "workshop"),
        Happening(at(0.4), "file/read", {"path": "docs/missing-page.md"}, "scout", "workshop", "failed"),
        Happening(at(0.45), "data/read", {"collection": "orders", "id": "o-9999"}, "mason", "workshop", "failed"),
        Happening(at(0.5), "data/query", {"sql": "SELECT nonsense FROM nowhere"}, "mason", "workshop", "failed"),
        Happening(at(0.55), "system/shutdown", {}, "mason", "workshop", "refused"),
        Happening(at(0.6), "user/list", {}, "scout", "lounge", "refused"),
        Happening(at(0.7), "file/list", {"path": "docs"}, "scout", "workshop"),
        Happening(at(0.8), "shell/wc", {"arguments": ["--lines", "notes/shopping.txt"]}, "mason", "workshop"),
        Happening(at(0.95), "file/write", {"path": "notes/plan.md", "content": "# Plan\n"}, "mason", "lab", "parked"),
    ]
