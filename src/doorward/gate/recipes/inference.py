"""Infers a recipe from the calls that the ledger holds: what agents did becomes what they may do."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doorward.core import redact, strictjson
from doorward.core.command import Command
from doorward.gate.recipes.policy import OBSERVED_APPROVAL, match_pattern
from doorward.gate.recipes.replay import SESSION_RULE, RecordedDecision

_RAN = ("started", "done", "failed")
_MAX_PATHS = 10_000


class UsedCommand:
    """How agents used one command."""

    def __init__(self) -> None:
        self.count = 0
        self.asked = False
        """Whether a person approved a call of it, or would have been asked."""
        self.paths: set[str] | None = set()
        """The paths that the calls named; None if one call names none or its record is not complete."""


class RecipeInference:
    """Processes records one by one and keeps only what the recipe needs."""

    def __init__(self, find: Callable[[str], Command | None]) -> None:
        self._find = find
        self.used: dict[str, UsedCommand] = {}
        self.calls = 0

    def add(self, records: Iterable[RecordedDecision]) -> None:
        for past in records:
            if past.kind != "human" and past.status in _RAN and past.code != "dry_run" and past.phase != "end":
                self._add(past)

    def _add(self, past: RecordedDecision) -> None:
        self.calls += 1
        used = self.used.setdefault(past.command, UsedCommand())
        used.count += 1
        exempt = past.rule.startswith((OBSERVED_APPROVAL, SESSION_RULE)) or "allowWithoutApproval" in past.rule
        used.asked = used.asked or bool(past.approval) or exempt
        command = self._find(past.command)
        path = _recorded_path(past, command) if command is not None and command.path_parameter else None
        if path is None or used.paths is None or len(used.paths) >= _MAX_PATHS:
            used.paths = None
        else:
            used.paths.add(path)

    def build(self, current: Mapping[str, Any], id: str, name: str, description: str) -> dict[str, Any]:
        """Build the recipe. Limits, sandbox and required approvals are those of the current recipe."""
        strategy = {key: value for key, value in current["strategy"].items() if key != "mode"}
        before = strategy.get("aiCommands", {})
        terms = before.get("requireApproval", {})
        asked = [one for one in sorted(self.used) if self.used[one].asked or match_pattern(terms, one) is not None]
        rules: dict[str, Any] = {
            "enabled": True,
            "whitelist": sorted(self.used),
            "requireApproval": {one: terms.get(match_pattern(terms, one) or "", True) for one in asked},
            "allowWithoutApproval": [one for one in before.get("allowWithoutApproval", ()) if one["command"] in asked],
            "parameterRules": {one: rule for one in sorted(self.used) if (rule := self._path_rule(one)) is not None},
        }
        kept = ("maxCommandsPerResponse", "maxCommandsPerMinute", "maxActionsPerSecond", "visual", "timeoutSeconds")
        limits = {key: before[key] for key in kept if key in before}
        filled = {key: value for key, value in rules.items() if value or key in ("enabled", "whitelist")}
        return {
            "recipeId": id,
            "displayName": name,
            "description": description,
            "strategy": {**strategy, "aiCommands": {**filled, **limits}},
        }

    def _path_rule(self, name: str) -> dict[str, Any] | None:
        """The rule that keeps a command in the folder that all its paths share; None if they share none."""
        command, paths = self._find(name), self.used[name].paths
        if command is None or not paths:
            return None
        folder = posixpath.commonpath([posixpath.dirname(path) for path in paths])
        if not folder or set(folder) & set("*?[]{}\\"):
            return None
        return {command.path_parameter: {"glob": f"{folder}/**"}}


def _recorded_path(past: RecordedDecision, command: Command) -> str | None:
    """The path that a call named, below the workspace; None if the record does not tell."""
    try:
        params = strictjson.loads(past.params)
    except strictjson.NotJson:
        return None
    path = params.get(command.path_parameter) if isinstance(params, dict) else None
    if not isinstance(path, str) or not redact.is_whole(path) or path.startswith("/"):
        return None
    normal = posixpath.normpath(path)
    return None if normal.split("/")[0] == ".." else normal
