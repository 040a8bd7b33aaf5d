"""The shortcut table."""

from __future__ import annotations

from holaboss_app.core.shortcuts import SHORTCUTS, Action, keys, shortcut


def test_every_action_has_exactly_one_row() -> None:
    assert sorted(row.action for row in SHORTCUTS) == sorted(Action)


def test_no_two_actions_share_keys() -> None:
    used = [row.keys for row in SHORTCUTS]
    assert len(set(used)) == len(used)


def test_lookup() -> None:
    assert keys(Action.PALETTE) == "Ctrl+K"
    assert shortcut(Action.SEND).place == "composer"
