"""Theme and text scale: kept in the settings, worn by the application."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.theme import style

ZOOM_STEPS = (0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)


class Appearance:
    def __init__(self, app: QApplication, settings: SettingsStore) -> None:
        self._app = app
        self._settings = settings

    def wear(self) -> None:
        """Dress the application as the settings say."""
        settings = self._settings.settings
        style.apply(self._app, settings.theme, settings.text_scale)

    def set_theme(self, theme: str) -> None:
        """`light`, `dark` or `system`.

        Raises:
            ValueError: it is none of them.
        """
        self._settings.update(theme=theme)
        self.wear()

    def set_scale(self, scale: float) -> None:
        """0.8 to 2.0; anything else is clamped."""
        self._settings.update(text_scale=min(ZOOM_STEPS[-1], max(ZOOM_STEPS[0], scale)))
        self.wear()

    def zoom(self, step: int) -> None:
        """One step larger (1) or smaller (-1)."""
        now = self._settings.settings.text_scale
        if step > 0:
            self.set_scale(next((scale for scale in ZOOM_STEPS if scale > now + 0.01), ZOOM_STEPS[-1]))
        else:
            self.set_scale(
                next((scale for scale in reversed(ZOOM_STEPS) if scale < now - 0.01), ZOOM_STEPS[0])
            )
