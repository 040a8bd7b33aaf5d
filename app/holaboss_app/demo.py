"""`--demo`: the offline demo model connected, and a workspace to use it in. Everything a person could
click."""

from __future__ import annotations

from holaboss_app.desktop import Desktop
from holaboss_client.workspaces import Workspace

DEMO_PROVIDER, DEMO_NAME = "demo", "Demo"


async def prepare_demo(desktop: Desktop) -> Workspace:
    """Connect the demo model if it is not, open the workspace named Demo, make it if there is none.

    Raises:
        ProblemError, RuntimeUnreachableError: the runtime refused or went away.
    """
    catalogue = desktop.providers.catalogue
    known = {} if catalogue is None else {item.id: item.connected for item in catalogue.providers}
    if not known.get(DEMO_PROVIDER, False):
        await desktop.providers.connect_found(DEMO_PROVIDER, None)
    workspaces = desktop.workspaces
    existing = next((item for item in workspaces.items if item.name == DEMO_NAME), None)
    if existing is None:
        existing = await workspaces.create(DEMO_NAME)
    else:
        workspaces.open(existing.id)
    desktop.presenter.open_space()
    await desktop.space.settled()
    return existing
