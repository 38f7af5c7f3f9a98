"""A recipe can name all commands of one server, and the most specific pattern decides (R2.2)."""

from __future__ import annotations

import pytest

from doorward.gate.recipes.policy import match_pattern, matching_patterns


def test_patterns_go_from_the_command_over_its_server_and_its_area_to_everything():
    assert matching_patterns("mcp/github/search") == ("mcp/github/search", "mcp/github/*", "mcp/*", "*")
    assert matching_patterns("data/list") == ("data/list", "data/*", "*")
    assert matching_patterns("bash") == ("bash", "*")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mcp/github/search", "mcp/github/*"),
        ("mcp/gitlab/search", "mcp/*"),
        ("mcp/github-evil/search", "mcp/*"),
        ("mcp/github", "mcp/*"),
        ("data/list", None),
    ],
)
def test_a_pattern_of_a_server_names_that_server_and_no_other(name: str, found: str | None):
    assert match_pattern({"mcp/github/*", "mcp/*"}, name) == found
