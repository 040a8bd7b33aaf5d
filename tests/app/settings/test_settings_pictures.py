"""Draws every section as a person sees it. The pictures land in the test's temporary directory, to be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QScrollArea, QWidget

from holaboss_app.theme import style
from tests.app.settings.conftest import Desk

LOOKS = {
    "light": ("light", 1.0, 980),
    "dark": ("dark", 1.0, 980),
    "large": ("light", 1.5, 980),
    "narrow": ("dark", 1.0, 430),
    "largest": ("dark", 2.0, 660),
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_section_can_be_drawn(desk: Desk, qapp: QApplication, tmp_path: Path, look: str) -> None:
    scheme, scale, width = LOOKS[look]
    style.apply(qapp, scheme, scale)
    try:
        _fill(desk)
        desk.page.resize(width, 1500)
        for section in ("models", "appearance", "privacy", "about"):
            desk.presenter.show_section(section)
            for _ in range(4):  # what is inside of what is shown gets its place one after the other
                qapp.processEvents()
            assert desk.page.grab().save(str(tmp_path / f"{look}-{section}.png"))
            assert _cut_off(desk.page) == []
    finally:
        style.apply(qapp, "light", 1.0)


def _fill(desk: Desk) -> None:
    runtime = desk.runtime
    runtime.providers["openai_direct"] |= {
        "connected": True,
        "base_url": "https://api.openai.com/v1",
        "effective_url": "https://api.openai.com/v1",
        "models": ["gpt-5.4", "gpt-5.4-mini"],
    }
    runtime.secrets["openai_direct"] = "x"
    runtime.providers["acme"] = runtime.providers["ollama_direct"] | {
        "id": "acme",
        "name": "Acme inference with a rather long name and a veryveryverylongwordinit",
        "connected": True,
        "base_url": "https://llm.acme.example/v1",
        "effective_url": "https://llm.acme.example/v1",
        "models": ["acme-large"],
        "custom": True,
    }
    runtime.literal["acme"] = "x"
    runtime.background = {"provider": "ollama_direct", "model": None}
    runtime.default_model = "openai_direct/gpt-5.4"
    runtime.notices = [
        "runtime-config.json could not be read. It was kept as runtime-config.json.corrupt-20260401."
    ]
    runtime.servers = [
        {
            "provider_id": "ollama_direct",
            "name": "Ollama",
            "base_url": "http://127.0.0.1:11434/v1",
            "models": ["qwen3:8b"],
        }
    ]
    runtime.test_result |= {"models": ["gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano"]}
    desk.open()
    desk.card("openai_direct").set_expanded(True)
    desk.do(desk.card("openai_direct").form.test.click)
    desk.do(lambda: desk.card("ollama_direct").form.base_url.setText("http://"))
    desk.card("ollama_direct").form.check()
    desk.card("ollama_direct").set_expanded(True)
    desk.do(desk.page.models.add.click)


def _cut_off(page: QWidget) -> list[str]:
    """Labels, inputs and buttons that reach out of what can be seen of their section."""
    area = next(area for area in page.findChildren(QScrollArea) if area.isVisible())
    edge = area.mapTo(page, QPoint(0, 0)).x() + area.viewport().width()
    kinds = (QLabel, QComboBox, QAbstractButton)
    widgets: list[QWidget] = [widget for kind in kinds for widget in page.findChildren(kind)]
    shown = [widget for widget in widgets if widget.isVisible() and area.isAncestorOf(widget)]
    wide = area.widget()
    assert wide is not None
    assert wide.width() <= area.viewport().width(), "nothing is cut off at the right"
    return [
        f"{widget.objectName()} {getattr(widget, 'text', str)()}"
        for widget in shown
        if widget.mapTo(page, widget.rect().topRight()).x() > edge
    ]
