"""The same page over a real runtime, a real configuration file and a real HTTP provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.config import ModelTarget
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


@pytest.fixture
def fresh(qloop: QLoop, tmp_path: Path) -> Iterator[RealDesk]:
    """Nothing is connected and there is no file yet."""
    with RuntimeProcess(tmp_path / "sandbox-host") as process:
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


def test_the_test_button_tells_bad_key_bad_url_unreachable_and_no_such_model_apart(real: RealDesk) -> None:
    real.open()
    with ScriptedProvider(key="sk-good-123456", models=("tiny",)) as provider:
        form = real.card("openai_direct").form

        def told(url: str, key: str, model: str) -> str:
            form.base_url.setText(url)
            form.key.input.setText(key)
            form.models.text.setPlainText(model)
            real.do(form.test.click)
            return form.outcome.text().replace("\u200b", "")

        root = provider.url
        assert "The key was refused." in told(f"{root}/v1", "sk-wrong-123456", "tiny")
        assert f"There is no model list at {root}/elsewhere/models." in told(
            f"{root}/elsewhere", "sk-good-123456", "tiny"
        )
        assert "has no model 'huge'" in told(f"{root}/v1", "sk-good-123456", "huge")
        assert "Connected. 1 model is available." in told(f"{root}/v1", "sk-good-123456", "tiny")
        real.do(lambda: form.base_url.setText("http://127.0.0.1:9/v1"))
    assert "127.0.0.1:9 cannot be reached." in told("http://127.0.0.1:9/v1", "sk-good-123456", "tiny")
    assert form.address.message.text().startswith("Requests go to")


def test_the_first_provider_seeds_the_background_tasks_and_ollama_seeds_no_model(fresh: RealDesk) -> None:
    real = fresh
    real.open()
    background = real.page.models.background
    assert background.target == ModelTarget(provider=None, model=None)
    ollama = real.card("ollama_direct")
    real.do(ollama.connect_button.click)
    assert background.target == ModelTarget(provider="ollama_direct", model=None)
    assert "Choose a model" in background.warning.label.text()
    real.do(ollama.connect_button.click)
    real.do(ollama.confirm_disconnect.click)
    assert background.target == ModelTarget(provider=None, model=None)
    for provider_id in ("gemini_direct", "minimax_direct"):
        real.card(provider_id).form.key.input.setText("sk-good-123456")
        real.do(real.card(provider_id).connect_button.click)
    assert background.target == ModelTarget(provider="gemini_direct", model="gemini-2.5-flash")
    assert not background.warning.isVisibleTo(background)
    assert real.config["runtime"]["background_tasks"] == {
        "provider": "gemini_direct",
        "model": "gemini-2.5-flash",
    }


def test_the_seven_providers_and_the_demo_model_are_there_with_what_they_start_from(fresh: RealDesk) -> None:
    real = fresh
    real.open()
    shown = {name: card.form.draft for name, card in real.page.models.cards.items()}
    assert list(shown) == [
        "holaboss_model_proxy",
        "openai_direct",
        "anthropic_direct",
        "openrouter_direct",
        "gemini_direct",
        "ollama_direct",
        "minimax_direct",
        "demo",
    ]
    assert shown["openai_direct"].base_url == "https://api.openai.com/v1"
    assert shown["anthropic_direct"].base_url == "https://api.anthropic.com"
    assert shown["openrouter_direct"].base_url == "https://openrouter.ai/api/v1"
    assert shown["gemini_direct"].base_url.endswith("googleapis.com/v1beta/openai")
    assert shown["ollama_direct"].base_url == "http://localhost:11434/v1"
    assert shown["minimax_direct"].base_url == "https://api.minimax.io/v1"
    assert all(draft.models for name, draft in shown.items() if name != "holaboss_model_proxy")
