"""Files with secrets: only their owner can read them, from their first byte on."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644
_PRIVATE_DIRECTORY = 0o700


def make_private_directory(path: Path) -> None:
    path.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)


def write_new(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Raises ``FileExistsError`` rather than overwrite a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        # The umask of the process may have taken more than the rights of others.
        os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def replace(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Readers see the old content or the new, also after a crash."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    write_new(temporary, data, mode=mode)
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
