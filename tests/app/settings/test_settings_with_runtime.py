"""The same page over a real runtime, a real configuration file and a real HTTP provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import QLoop
from tests.app.settings.conftest import Desk
from tests.app.settings.fake_runtime import MARKER_KEY
from tests.support.scripted_provider import ScriptedProvider
from tests.support.server import RuntimeProcess


class RealDesk(Desk):
    """A desk whose client speaks to a runtime process."""

    def __init__(self, qloop: QLoop, directory: Path, process: RuntimeProcess) -> None:
        super().__init__(qloop, directory)
        self.process = process
        self.runtime.client = process.client  # type: ignore[method-assign]

    @property
    def config(self) -> dict[str, Any]:
        path = self.process.root / "state" / "runtime-config.json"
        return json.loads(path.read_text()) if path.exists() else {}


@pytest.fixture
def real(qloop: QLoop, tmp_path: Path) -> Iterator[RealDesk]:
    root = tmp_path / "sandbox-host"
    (root / "state").mkdir(parents=True)
    literal = {"kind": "anthropic_native", "base_url": "https://api.anthropic.com", "api_key": MARKER_KEY}
    (root / "state" / "runtime-config.json").write_text(
        json.dumps({"providers": {"anthropic_direct": literal}})
    )
    with RuntimeProcess(root) as process:
        desk = RealDesk(qloop, tmp_path, process)
        yield desk
        desk.close()


def test_a_provider_from_the_first_key_to_disconnecting(real: RealDesk) -> None:
    real.open()
    with ScriptedProvider(key="sk-good-123456", models=("tiny",)) as provider:
        form = real.card("openai_direct").form
        form.base_url.setText(provider.url + "/v1")
        form.key.input.setText("sk-wrong-123456")
        real.do(form.test.click)
        assert "key" in form.outcome.text().lower()
        form.key.input.setText("sk-good-123456")
        real.do(form.test.click)
        found = [form.models.list.item(row).text() for row in range(form.models.list.count())]
        assert found == ["tiny"]
        form.models.text.setPlainText("tiny")
        real.do(real.card("openai_direct").connect_button.click)
        assert real.card("openai_direct").state_label.text() == "Connected"
        assert form.address.message.text() == f"Requests go to {provider.url}/v1"
        stored = real.config["providers"]["openai_direct"]
        assert stored["api_key"] == "keychain:openai_direct"
        assert real.store.passwords["provider/openai_direct"] == "sk-good-123456"
        real.do(form.test.click)
        assert form.outcome.text().endswith("ms)")
    card = real.card("openai_direct")
    real.do(card.connect_button.click)
    real.do(card.confirm_disconnect.click)
    assert "openai_direct" not in real.config["providers"]
    assert "provider/openai_direct" not in real.store.passwords
    assert card.state_label.text() == ""


def test_a_literal_key_leaves_the_file_and_a_refused_edit_is_said(real: RealDesk) -> None:
    real.open()
    card = real.card("anthropic_direct")
    assert card.state_label.text() == "Key in plain text"
    real.do(card.form.key.migrate.click)
    assert real.config["providers"]["anthropic_direct"]["api_key"] == "keychain:anthropic_direct"
    assert real.store.passwords == {"provider/anthropic_direct": MARKER_KEY}
    assert card.form.key.kept_label.text() == "Saved in the keychain"
    form = card.form
    form.base_url.setText("http://127.0.0.1:9")
    real.do(lambda: form.models.text.setPlainText("a/b"))
    real.do(form.save_now)
    assert "without a slash" in form.state_label.text()
    assert form.retry.isVisibleTo(form)


def test_a_literal_key_can_be_removed_from_the_file(real: RealDesk) -> None:
    real.open()
    card = real.card("anthropic_direct")
    real.do(card.form.key.remove.click)
    assert MARKER_KEY not in json.dumps(real.config)
    assert "anthropic_direct" in real.config["providers"]
    assert card.state_label.text() == "Key missing"
    assert not card.form.key.problem.isVisibleTo(card)


def test_edits_custom_providers_and_choices_reach_the_file(real: RealDesk) -> None:
    real.open()
    models = real.page.models
    real.do(models.add.click)
    models.custom.name.setText("Our Lab")
    models.custom.base_url.setText("http://127.0.0.1:9/v1")
    models.custom.models.text.setPlainText("lab/large\nlab/small")
    real.do(models.custom.add.click)
    assert real.config["providers"]["our_lab"]["name"] == "Our Lab"
    form = real.card("our_lab").form
    real.do(lambda: form.models.text.setPlainText("lab/small"))
    real.do(form.save_now)
    assert form.state_label.text() == "Saved"
    assert "our_lab/lab/small" in real.config["models"]
    picker = models.default_model.model
    picker.setCurrentIndex(picker.findData("our_lab/lab/small"))
    real.do(picker.chosen.emit)
    assert models.default_model.problem.label.text() == ""
    assert picker.currentData() == "our_lab/lab/small"
    background = models.background
    background.provider.setCurrentIndex(background.provider.findData("our_lab"))
    real.do(background.provider.chosen.emit)
    background.model.setCurrentText("lab/small")
    real.do(background.settled.timeout.emit)
    assert real.config["runtime"]["background_tasks"] == {"provider": "our_lab", "model": "lab/small"}
