"""A thought or a tool call: a row, and pieces below it while a person has it open."""

from __future__ import annotations

from holaboss_app.core.reducer import TextSegment, ToolSegment
from holaboss_app.panes.chat import trace
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.text_column import Piece, Shelf
from holaboss_app.panes.chat.trace import TraceHeader


class FoldedPart:
    def __init__(self, header: TraceHeader, shelf: Shelf) -> None:
        self.header = header
        self.pieces: list[Piece] = []
        self._shelf = shelf
        self._shown: list[tuple[str, str, str]] = []

    def clear(self) -> None:
        for piece in self.pieces:
            self._shelf.put_back(piece)
        self.pieces, self._shown = [], []

    def show_thought(self, segment: TextSegment, *, running: bool, unfolded: bool) -> None:
        trace.show_thought(self.header, segment.text, running=running)
        self.header.setChecked(unfolded)
        if not unfolded:
            self.clear()
            return
        if not self.pieces:
            self.pieces = [self._shelf.take_prose()]
        first = self.pieces[0]
        if isinstance(first, ProseView):
            first.set_markdown(segment.text, muted=True)

    def show_tool(self, segment: ToolSegment, *, unfolded: bool) -> None:
        trace.show_tool(self.header, segment)
        self.header.setChecked(unfolded)
        wanted = trace.details(segment) if unfolded else []
        if wanted == self._shown:
            return
        self.clear()
        self._shown = wanted
        for title, language, text in wanted:
            block = self._shelf.take_code()
            block.open(language, title=title)
            block.append(text)
            block.close_block()
            self.pieces.append(block)
