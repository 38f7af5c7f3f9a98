"""A recipe can name all commands of one server, and the most specific pattern decides (R2.2)."""

from __future__ import annotations

import pytest

from doorward.recipes.patterns import from_specific_to_general, match


def test_patterns_go_from_the_command_over_its_server_and_its_area_to_everything():
    assert from_specific_to_general("mcp/github/search") == ("mcp/github/search", "mcp/github/*", "mcp/*", "*")
    assert from_specific_to_general("data/list") == ("data/list", "data/*", "*")
    assert from_specific_to_general("bash") == ("bash", "*")


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
    assert match({"mcp/github/*", "mcp/*"}, name) == found
