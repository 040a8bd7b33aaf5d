"""The distance between two pieces of an answer: what it would be if both stood in one document.

So a growing answer, whose paragraphs are still pieces of their own, looks like the finished one.
"""

from __future__ import annotations

from holaboss_app.panes.chat.code_block import CodeBlock
from holaboss_app.panes.chat.prose import ABOVE_HEADING, BETWEEN_BLOCKS, ProseView
from holaboss_app.theme.style import scaled

_BELOW_HEADING, _BELOW_FRAME = 4, 14


def distance(before: ProseView | CodeBlock, after: ProseView | CodeBlock) -> int:
    """Pixels between `before` and `after`."""
    frame_above = isinstance(before, CodeBlock)
    if isinstance(after, ProseView) and after.begins_with_heading:
        # Unlike a frame, a line of text has some air of its own below it.
        return scaled(ABOVE_HEADING + (4 if frame_above else 0))
    if isinstance(before, ProseView) and before.ends_with_heading and _is_framed(after):
        return scaled(_BELOW_HEADING)
    return scaled(_BELOW_FRAME if frame_above else BETWEEN_BLOCKS)


def _is_framed(piece: ProseView | CodeBlock) -> bool:
    return isinstance(piece, CodeBlock) or piece.begins_with_table
