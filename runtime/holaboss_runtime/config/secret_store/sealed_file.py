"""Secrets of a standalone runtime in one encrypted file: Fernet, with a key from the environment.

The file is replaced as a whole, is readable by its owner alone, and is never written over when it cannot be read.
"""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from holaboss_runtime.errors import DomainError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

SALT_BYTES = 16
MAX_BYTES = 16 * 1024 * 1024
_MAGIC = b"holaboss-secrets-1\n"
_COST = 2**15
"""Of scrypt, with r=8: 32 MiB and some tenths of a second, once for each start."""


class SealedFile:
    """`passphrase` is what the environment gave. Both methods block, the first one for some
    tenths of a second; call them beside the loop."""

    def __init__(self, path: Path, passphrase: str) -> None:
        self.path = path
        self._passphrase = passphrase
        self._salt: bytes | None = None
        self._box: Fernet | None = None

    def load(self) -> dict[str, str]:
        """What it holds; nothing when it is not there.

        Raises `DomainError`: `secrets_key_wrong`, or `secrets_file_unreadable`. The file stays as it is.
        """
        from cryptography.fernet import InvalidToken

        try:
            content = self._read()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(self.path, f"it cannot be read ({error.strerror})") from error
        if not content.startswith(_MAGIC) or len(content) > MAX_BYTES:
            raise _unreadable(self.path, "it is not a file of secrets of this version")
        salt, sealed = content[len(_MAGIC) :][:SALT_BYTES], content[len(_MAGIC) + SALT_BYTES :]
        box = self._box if self._box is not None and salt == self._salt else self._box_for(salt)
        try:
            opened: object = json.loads(box.decrypt(sealed))
        except InvalidToken as error:
            raise DomainError(
                "unavailable",
                "secrets_key_wrong",
                f"{self.path} was sealed with another key. Set HOLABOSS_SECRETS_KEY to that key, or move the file"
                " away to begin anew. It was not changed.",
            ) from error
        if not isinstance(opened, dict):
            raise _unreadable(self.path, "its content cannot be understood")
        self._salt, self._box = salt, box
        return {str(name): str(value) for name, value in cast("dict[object, object]", opened).items()}

    def change(self, name: str, value: str | None) -> None:
        """Keep one secret, or forget it; what another process has put in meanwhile stays.

        Raises `DomainError`: those of `load`, and `secrets_not_writable`.
        """
        kept = self.load()
        kept.pop(name, None)
        self._save(kept if value is None else kept | {name: value})

    def _save(self, secrets: dict[str, str]) -> None:
        if self._box is None or self._salt is None:
            self._salt = os.urandom(SALT_BYTES)
            self._box = self._box_for(self._salt)
        content = _MAGIC + self._salt + self._box.encrypt(json.dumps(secrets).encode())
        partial = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            partial.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise DomainError(
                "unavailable",
                "secrets_not_writable",
                f"Secrets cannot be kept in {self.path}: {error.strerror}. Check its permissions.",
            ) from error

    def _read(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(MAX_BYTES + 1)

    def _box_for(self, salt: bytes) -> Fernet:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        key = Scrypt(salt=salt, length=32, n=_COST, r=8, p=1).derive(self._passphrase.encode())
        return Fernet(base64.urlsafe_b64encode(key))


def _unreadable(path: Path, reason: str) -> DomainError:
    return DomainError(
        "unavailable", "secrets_file_unreadable", f"{path} is not used: {reason}. It was not changed."
    )
