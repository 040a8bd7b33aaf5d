"""The Model Providers section: everything about providers, in the order someone setting up would need it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from holaboss_app.panes.settings.custom_provider import CustomProviderForm
from holaboss_app.panes.settings.form import provider_id
from holaboss_app.panes.settings.key_field import KeyEntry, KeyPlace
from holaboss_app.panes.settings.local_servers import LocalServersCard
from holaboss_app.panes.settings.model_choice import BackgroundTasksCard, DefaultModelCard
from holaboss_app.panes.settings.parts import Notice, column, push_button
from holaboss_app.panes.settings.provider_card import ProviderCard
from holaboss_app.theme.focus import follow_layout
from holaboss_client.config import ProviderCatalogue, ProviderView


class ModelsSection(QWidget):
    """`card_added` announces each new provider card, so that its owner can listen to it."""

    card_added = Signal(ProviderCard)
    move_keys_requested = Signal()
    keychain_check_requested = Signal()
    reload_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[str, ProviderCard] = {}
        self._build_notices()
        self.local_servers = LocalServersCard()
        self.custom = CustomProviderForm()
        self.default_model = DefaultModelCard()
        self.background = BackgroundTasksCard()
        self.add = push_button(self.tr("Add another provider…"), "add-provider", icon_name="plus")
        self.add.clicked.connect(self.start_custom)
        self.custom.cancelled.connect(self.end_custom)
        self._card_column = column(cards := QWidget(), spacing=8)
        self._content = QWidget()
        content = column(self._content, spacing=12)
        for widget in (cards, self.custom, self.add, self.local_servers, self.default_model, self.background):
            content.addWidget(widget)
        content.setSpacing(12)
        layout = column(self, spacing=12)
        for notice in self.notices:
            layout.addWidget(notice)
        layout.addWidget(self._content)
        layout.addStretch(1)
        self.custom.hide()
        self.loading()

    def _build_notices(self) -> None:
        self.connection = Notice(icon_name="info", surface="sunken")
        self.connection.setObjectName("runtime-notice")
        self.reload = self.connection.add_button(push_button(self.tr("Try again"), "reload-settings"))
        self.reload.clicked.connect(self.reload_requested)
        self.file_notice = Notice()
        self.file_notice.setObjectName("config-notice")
        self.keychain = Notice()
        self.keychain.setObjectName("keychain-notice")
        self.look_again = self.keychain.add_button(push_button(self.tr("Check again"), "keychain-again"))
        self.look_again.clicked.connect(self.keychain_check_requested)
        self.literal = Notice()
        self.literal.setObjectName("literal-keys-notice")
        self.move_all = self.literal.add_button(push_button(self.tr("Move to keychain"), "move-all-keys"))
        self.move_all.clicked.connect(self.move_keys_requested)
        self.notices = (self.connection, self.file_notice, self.keychain, self.literal)
        for notice in self.notices:
            notice.hide()

    def loading(self) -> None:
        """Nothing is known yet."""
        self._content.hide()
        self.reload.hide()
        self.connection.say(self.tr("Reading the settings of the runtime…"))

    def runtime_gone(self, sentence: str, *, can_retry: bool = False) -> None:
        """Say why nothing can be changed now; what is shown and typed stays."""
        self.reload.setVisible(can_retry)
        self.connection.say(sentence)

    def show_catalogue(
        self, catalogue: ProviderCatalogue, places: dict[str, KeyPlace], entry: KeyEntry
    ) -> None:
        """Bring every card up to date; new ones are added, vanished ones removed."""
        self.connection.say("")
        self._content.show()
        self.file_notice.say("\n".join(catalogue.notices))
        for view in catalogue.providers:
            self._card(view).show_view(view, places[view.id], entry)
        for gone in self.cards.keys() - {view.id for view in catalogue.providers}:
            self.cards.pop(gone).deleteLater()
        literal = [view.name for view in catalogue.providers if places[view.id] == "literal"]
        self.literal.say(self._literal_words(literal, entry))
        self.move_all.setVisible(entry is KeyEntry.KEYCHAIN)
        self.local_servers.show_catalogue(catalogue)
        self.default_model.show_catalogue(catalogue)
        self.background.show_catalogue(catalogue)
        follow_layout(self)

    def reveal(self, name: str) -> ProviderCard | None:
        """Open the card of a provider id; the caller scrolls to it."""
        card = self.cards.get(name)
        if card is not None:
            card.set_expanded(True)
        return card

    def start_custom(self) -> None:
        """Open the form of a provider that is not in the catalogue."""
        self.add.hide()
        names = {provider_id(card.view.name) for card in self.cards.values()}
        self.custom.start(self.cards.keys() | names)

    def end_custom(self) -> None:
        self.custom.hide()
        self.add.show()
        self.add.setFocus()

    def _card(self, view: ProviderView) -> ProviderCard:
        if (card := self.cards.get(view.id)) is None:
            card = self.cards[view.id] = ProviderCard(view)
            self._card_column.addWidget(card)
            self.card_added.emit(card)
        return card

    def _literal_words(self, names: list[str], entry: KeyEntry) -> str:
        if not names:
            return ""
        sentence = self.tr("The key of {names} is written in plain text in runtime-config.json.")
        if len(names) > 1:
            sentence = self.tr("The keys of {names} are written in plain text in runtime-config.json.")
        if entry is KeyEntry.SESSION:
            sentence = f"{sentence} {self._why_not()}"
        return sentence.format(names=", ".join(names))

    def _why_not(self) -> str:
        return self.tr("Start a keychain and check again under Data & privacy to move it there.")
