"""The directories of a node: writable, with room, on a disk that keeps its data."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from barnabas.cli.doctor.finding import Finding, ok, problem, warning

# Below this a node may be full within minutes.
FREE_BYTES_MIN = 1 << 30
FREE_PERCENT_MIN = 10
META_PROPERTIES = "meta.properties"

_FORGETFUL = ("tmpfs", "ramfs", "overlay")
_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p")


def directory(path: Path, *, formatted: bool) -> Iterable[Finding]:
    """``formatted``: a node expects to find its identity there."""
    name = f"disk {path}"
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    if there is None or not there.is_dir():
        yield problem(name, f"{there or path} is not a directory.", "Name another directory in log.dirs.")
        return
    refusal = _cannot_write(there)
    if refusal is not None:
        yield problem(name, f"{there} is not writable: {refusal}.", f"Give {_user()} the right to write there.")
        return
    usage = shutil.disk_usage(there)
    free = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.1f} GiB are free"
    kind = _file_system(there)
    percent = usage.free * 100 // max(usage.total, 1)
    if usage.free < FREE_BYTES_MIN:
        yield problem(name, f"Only {free}.", "Make room, or shorten retention: a full directory refuses writes.")
    elif percent < FREE_PERCENT_MIN:
        yield warning(name, f"Only {free} ({percent} %).", "Make room soon, or shorten retention.")
    elif formatted and not (path / META_PROPERTIES).exists():
        yield warning(name, f"{path} is not formatted.", "Format it before the first start: barnabas storage format.")
    elif kind in _FORGETFUL:
        yield warning(name, f"{there} is on {kind}, which a restart may empty; {free}.", "Use a volume or a real disk for data to keep.")
    elif kind in _REMOTE:
        yield warning(name, f"{there} is on {kind}, a network file system; {free}.", "Use a local disk: syncing and locking depend on it.")
    else:
        yield ok(name, f"Writable; {free}{f' ({kind})' if kind else ''}.")


def _cannot_write(path: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=path, prefix=".barnabas-doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror
    return None


def _file_system(path: Path) -> str | None:
    """The type of the file system, by the longest mount point that contains the path."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    resolved = path.resolve()
    found = [(len(point), kind) for point, kind in mounts if resolved.is_relative_to(point.replace("\\040", " "))]
    # The last of several mounts on one point is the visible one.
    return max(reversed(found), default=(0, None), key=lambda each: each[0])[1]


def _user() -> str:
    return f"the user {os.environ.get('USER') or os.geteuid()}"
