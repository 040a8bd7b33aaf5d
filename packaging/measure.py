"""Measures a frozen folder and holds it to its budget. `scripts/package` runs it after every build."""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

MEGABYTE = 1_000_000
UNPACKED_LIMIT = 260 * MEGABYTE
COMPRESSED_LIMIT = 90 * MEGABYTE


def main(folder: str) -> int:
    """Print both sizes and the largest files; 1 when a budget is broken."""
    root = Path(folder)
    files = sorted((path for path in root.rglob("*") if path.is_file() and not path.is_symlink()), key=_size)
    unpacked = sum(map(_size, files))
    compressed = compressed_size(root)
    print(f"{folder}: {unpacked / MEGABYTE:.0f} MB unpacked (limit {UNPACKED_LIMIT // MEGABYTE}), ", end="")
    print(f"{compressed / MEGABYTE:.0f} MB as tar.xz (limit {COMPRESSED_LIMIT // MEGABYTE})")
    for path in reversed(files[-5:]):
        print(f"  {_size(path) / MEGABYTE:6.1f} MB  {path.relative_to(root)}")
    return 0 if unpacked <= UNPACKED_LIMIT and compressed <= COMPRESSED_LIMIT else 1


def compressed_size(root: Path) -> int:
    """Bytes of the folder as a tar.xz."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:xz", preset=3) as archive:
            archive.add(root, arcname=root.name)
        return file.tell()


def _size(path: Path) -> int:
    return path.stat().st_size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
