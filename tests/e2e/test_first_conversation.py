"""The main job, whole: connect a provider, make a workspace, talk, survive a crash, come back tomorrow."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.desktop import Desktop
from tests.e2e.processes import carries, eventually, of_home
from tests.support.scripted_provider import Reply, ScriptedProvider, ToolUse

MARKER_KEY = "sk-marker-5b1f0e7d9c"
Launch = Callable[..., Desktop]


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=MARKER_KEY) as running:
        yield running


def _first_workspace(desktop: Desktop, name: str) -> None:
    desktop.type("workspace-name", name, replace=True)
    desktop.click("create-workspace")
    desktop.has("composer")


def _connect(desktop: Desktop, provider_id: str, base_url: str, key: str, models: str) -> None:
    card = f"provider-card-{provider_id}"
    desktop.click("expand", inside=card)
    desktop.type("base-url", base_url, replace=True, inside=card)
    desktop.type("models", models, replace=True, inside=card)
    desktop.type("api-key", key, inside=card)
    desktop.click("connect", inside=card)


def _say(desktop: Desktop, text: str) -> None:
    desktop.type("composer", text)
    desktop.key("Return", name="composer")
