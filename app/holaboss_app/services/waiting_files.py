"""Files of a draft that the runtime does not have yet, as they are remembered between two starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from pydantic import BaseModel


class WaitingFile(BaseModel):
    """`address` is where it lies on this computer, percent-encoded because not every name is text. `kept` says that
    it is the desktop's own copy of something that was pasted."""

    name: str
    address: str
    kept: bool = False

    @classmethod
    def at(cls, path: Path, name: str, *, kept: bool) -> Self:
        return cls(name=name, address=quote_from_bytes(os.fsencode(path)), kept=kept)

    @property
    def path(self) -> Path:
        return Path(os.fsdecode(unquote_to_bytes(self.address)))
