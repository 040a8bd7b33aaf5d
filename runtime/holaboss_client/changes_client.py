"""The part of the client that takes turns back and sends files ahead of a message."""

from __future__ import annotations

import base64
from contextlib import suppress

from holaboss_client.attachments import PIECE_BYTES, StageAttachment, StagedAttachment
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.transport import Transport
from holaboss_client.transport import segment as _segment
from holaboss_client.undo import TurnChangesList, TurnDiff, UndoReply, UndoRequest


class ChangeCalls(Transport):
    async def turn_changes(
        self, workspace_id: str, *, session_id: str | None = None, limit: int = 50
    ) -> TurnChangesList:
        """Turns that changed files, newest first."""
        chosen = {} if session_id is None else {"session_id": session_id}
        path = f"/workspaces/{_segment(workspace_id)}/changes"
        return await self._get(TurnChangesList, path, limit=limit, **chosen)

    async def turn_diff(self, workspace_id: str, input_id: str) -> TurnDiff:
        return await self._get(TurnDiff, f"/workspaces/{_segment(workspace_id)}/changes/{_segment(input_id)}")

    async def undo(self, workspace_id: str, input_id: str, body: UndoRequest | None = None) -> UndoReply:
        """Take back what a turn did to files."""
        return await self._move(workspace_id, input_id, "undo", body)

    async def redo(self, workspace_id: str, input_id: str, body: UndoRequest | None = None) -> UndoReply:
        return await self._move(workspace_id, input_id, "redo", body)

    async def stage_attachment(
        self, workspace_id: str, name: str, content: bytes, *, batch: str | None = None
    ) -> StagedAttachment:
        """Send a file in pieces; what comes back can be attached to a message. A file that is refused in the middle
        leaves nothing behind."""
        path = f"/workspaces/{_segment(workspace_id)}/attachments"
        first = StageAttachment(name=name, batch=batch, content_base64=_encoded(content, 0))
        staged = await self._call(StagedAttachment, "POST", path, json=first.model_dump(exclude_none=True))
        try:
            for offset in range(PIECE_BYTES, len(content), PIECE_BYTES):
                piece = StageAttachment(
                    workspace_path=staged.workspace_path,
                    offset=offset,
                    content_base64=_encoded(content, offset),
                )
                staged = await self._call(
                    StagedAttachment, "POST", path, json=piece.model_dump(exclude_none=True)
                )
        except ProblemError:
            with suppress(ProblemError, RuntimeUnreachableError):  # the refusal is what is worth knowing
                await self.discard_attachment(workspace_id, staged.workspace_path)
            raise
        return staged

    async def discard_attachment(self, workspace_id: str, workspace_path: str) -> None:
        """Delete a staged file that no message names. Raises `ProblemError` `attachment_in_use` otherwise."""
        batch, name = workspace_path.split("/")[-2:]
        path = f"/workspaces/{_segment(workspace_id)}/attachments/{_segment(batch)}/{_segment(name)}"
        await self._send("DELETE", path)

    async def _move(
        self, workspace_id: str, input_id: str, direction: str, body: UndoRequest | None
    ) -> UndoReply:
        path = f"/workspaces/{_segment(workspace_id)}/changes/{_segment(input_id)}/{direction}"
        json = (body or UndoRequest()).model_dump(exclude_none=True)
        return await self._call(UndoReply, "POST", path, json=json)


def _encoded(content: bytes, offset: int) -> str:
    return base64.b64encode(content[offset : offset + PIECE_BYTES]).decode()
