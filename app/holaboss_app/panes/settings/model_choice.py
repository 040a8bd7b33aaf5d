"""Two choices over all connected providers: the model of new sessions and the model of background work."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame

from holaboss_app.panes.settings.parts import Field, Notice, Picker, column, text_label
from holaboss_client.config import ModelTarget, ProviderCatalogue, ProviderView

SETTLE_MS = 800


class BackgroundTasksCard(QFrame):
    """Provider and model of memory recall and of what happens after a run. Off is a choice."""

    chosen = Signal(ModelTarget)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("background-tasks")
        self.setProperty("surface", "card")
        self._providers: dict[str, ProviderView] = {}
        self._stored = ModelTarget()
        self.provider = Picker("background-provider", self.tr("Provider"))
        self.model = Picker("background-model", self.tr("Model"))
        self.model.setEditable(True)
        if (line := self.model.lineEdit()) is not None:  # it takes the focus, not the box around it
            line.setAccessibleName(self.tr("Model of background tasks"))
        self.provider_field = Field(self.tr("Provider"), self.provider, name="background-provider")
        self.model_field = Field(self.tr("Model"), self.model, name="background-model")
        self.warning = Notice()
        self.warning.setObjectName("background-warning")
        self.problem = Notice(surface="danger")
        self.problem.hide()
        layout = column(self, spacing=12, margins=16)
        layout.addWidget(text_label(self.tr("Background tasks"), "heading"))
        about = self.tr(
            "Memory recall and the work after a run use this model. A small, cheap one is enough."
        )
        layout.addWidget(text_label(about, "small"))
        for widget in (self.provider_field, self.model_field, self.warning, self.problem):
            layout.addWidget(widget)
        self.settled = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self.settled.timeout.connect(self._emit)
        self.provider.chosen.connect(self._provider_chosen)
        self.model.chosen.connect(self._emit)
        self.model.editTextChanged.connect(self._typed)
        self._filling = False

    def show_catalogue(self, catalogue: ProviderCatalogue) -> None:
        """Take over the stored choice, unless someone is typing another model right now."""
        self._providers = {view.id: view for view in catalogue.providers if view.connected}
        if self.settled.isActive():
            return
        self._stored = catalogue.background_tasks
        self._filling = True
        self.provider.clear()
        self.provider.addItem(self.tr("Off"), None)
        for view in self._providers.values():
            self.provider.addItem(view.name, view.id)
        self._add_vanished(catalogue)
        self.provider.setCurrentIndex(max(0, self.provider.findData(self._stored.provider)))
        self._fill_models(self._stored.model)
        self._filling = False
        self._warn()

    def fail(self, sentence: str) -> None:
        self.problem.say(sentence)

    @property
    def target(self) -> ModelTarget:
        provider = self.provider.currentData()
        model = self.model.currentText().strip()
        return ModelTarget(provider=provider, model=(model or None) if provider else None)

    def _add_vanished(self, catalogue: ProviderCatalogue) -> None:
        """A stored provider that is not connected stays visible, so that nothing changes by looking at it."""
        stored = catalogue.background_tasks.provider
        if stored and stored not in self._providers:
            names = {view.id: view.name for view in catalogue.providers}
            self.provider.addItem(names.get(stored, stored), stored)

    def _provider_chosen(self) -> None:
        view = self._providers.get(self.provider.currentData() or "")
        self._filling = True
        self._fill_models(view.background_model if view else None)
        self._filling = False
        self._emit()

    def _fill_models(self, model: str | None) -> None:
        view = self._providers.get(self.provider.currentData() or "")
        self.model.clear()
        self.model.addItems(view.models if view else [])
        self.model.setCurrentText(model or "")
        self.model_field.setVisible(bool(self.provider.currentData()))

    def _typed(self) -> None:
        if not self._filling:
            self.settled.start()
            self._warn()

    def _emit(self) -> None:
        self.settled.stop()
        self._warn()
        if self.target != self._stored:
            self._stored = self.target
            self.fail("")
            self.chosen.emit(self.target)

    def _warn(self) -> None:
        target = self.target
        name = self.provider.currentText()
        if target.provider and target.provider not in self._providers:
            words = self.tr("{name} is not connected, so background tasks do not run.").format(name=name)
            self.warning.say(words)
        elif target.provider and not target.model:
            self.warning.say(self.tr("Choose a model: without one, background tasks do not run."))
        else:
            self.warning.say("")


class DefaultModelCard(QFrame):
    """The model that a session takes when nobody chose one. Emits `<provider id>/<model>`."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("default-model-card")
        self.setProperty("surface", "card")
        self.model = Picker("default-model", self.tr("Default model"))
        self.field = Field(self.tr("New sessions use"), self.model, name="default-model")
        self.problem = Notice(surface="danger")
        self.problem.hide()
        layout = column(self, spacing=12, margins=16)
        layout.addWidget(text_label(self.tr("Default model"), "heading"))
        layout.addWidget(self.field)
        layout.addWidget(self.problem)
        self.model.chosen.connect(lambda: self.chosen.emit(self.model.currentData()))

    def show_catalogue(self, catalogue: ProviderCatalogue) -> None:
        """List the models of every connected provider; hidden while there are none."""
        connected = [view for view in catalogue.providers if view.connected]
        self.model.clear()
        for view in connected:
            for model in view.models:
                self.model.addItem(f"{view.name} · {model}", f"{view.id}/{model}")
        self._select(catalogue)
        self.setVisible(self.model.count() > 0)
        fixed = "default_model" in catalogue.overridden
        self.model.setEnabled(not fixed)
        self.field.show_hint(self.tr("An environment variable of the runtime decides this.") if fixed else "")

    def fail(self, sentence: str) -> None:
        self.problem.say(sentence)

    def _select(self, catalogue: ProviderCatalogue) -> None:
        model = catalogue.default_model
        if not model:
            self.model.setCurrentIndex(-1)
            return
        candidates = (model, f"{catalogue.default_provider}/{model}")
        found = next((row for row in map(self.model.findData, candidates) if row >= 0), -1)
        if found < 0:
            self.model.addItem(model, model)
            found = self.model.count() - 1
        self.model.setCurrentIndex(found)
