"""The peers' programs, built on demand into ``.peers/`` from the registries of Go and Rust.

The versions are pinned: those of Go in ``go/go.mod`` with hashes in ``go/go.sum``, that of Tansu
here, with the crate's own lock file. Tansu goes on as Nisshi, whose releases from 0.7.0 on need
Rust 1.96.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

GO_SOURCES = Path(__file__).resolve().parent / "go"
BUILT = Path(__file__).resolve().parents[2] / ".peers"
TANSU_VERSION = "0.6.0"
# A build that takes longer is given up; its finished parts stay, and the next run goes on there.
BUILD_SECONDS_MAX = 25 * 60.0
WORDS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Build:
    """A program and how it is built. ``sources`` make it stale when they are newer."""

    program: Path
    tool: str
    command: tuple[str, ...]
    directory: Path = BUILT
    environment: tuple[tuple[str, str], ...] = ()
    sources: tuple[Path, ...] = ()


def _go(name: str, package: str) -> Build:
    program = BUILT / "bin" / name
    sources = (GO_SOURCES / "go.mod", *sorted((GO_SOURCES / name).glob("*.go")))
    return Build(program, "go", ("go", "build", "-o", str(program), package), GO_SOURCES, sources=sources)


KFAKE = _go("kfake", "./kfake")
NATS_LOAD = _go("nats_load", "./nats_load")
NATS_SERVER = _go("nats-server", "github.com/nats-io/nats-server/v2")
TANSU = Build(
    BUILT / f"tansu-{TANSU_VERSION}" / "bin" / "tansu",
    "cargo",
    (
        *("cargo", "install", "tansu", "--version", TANSU_VERSION, "--locked", "--quiet"),
        *("--no-default-features", "--features", "dynostore,libsql", "--root", str(BUILT / f"tansu-{TANSU_VERSION}")),
    ),
    environment=(("CARGO_TARGET_DIR", str(BUILT / "build" / "tansu")),),
)


@cache
def why_missing(*builds: Build) -> str | None:
    """Builds what is not there yet; the reason in a sentence if that is impossible."""
    return next((reason for reason in map(_why_missing, builds) if reason is not None), None)


def _why_missing(build: Build) -> str | None:
    if is_fresh(build):
        return None
    if shutil.which(build.tool) is None:
        return f"{build.tool} is not installed"
    build.program.parent.mkdir(parents=True, exist_ok=True)
    (BUILT / ".gitignore").write_text("*\n")
    return run_build(build)


def is_fresh(build: Build) -> bool:
    if not build.program.exists():
        return False
    built_at = build.program.stat().st_mtime
    return all(source.stat().st_mtime <= built_at for source in build.sources)


def run_build(build: Build, seconds_max: float = BUILD_SECONDS_MAX) -> str | None:
    # A compiler that competes with the work on this machine would be a nuisance for minutes.
    with subprocess.Popen(
        ["nice", *build.command],
        cwd=build.directory,
        env=os.environ | dict(build.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            _, written = running.communicate(timeout=seconds_max)
        except BaseException as ended:
            # The compilers that the tool started must end with it.
            os.killpg(running.pid, signal.SIGKILL)
            if isinstance(ended, subprocess.TimeoutExpired):
                return f"{build.program.name} was not built within {seconds_max / 60:g} minutes"
            raise
    if running.returncode == 0:
        return None
    return f"{' '.join(build.command[:2])} of {build.program.name} failed: {first_error(written)}"


def first_error(written: str) -> str:
    """The first line that names an error, and the cause that cargo writes after it."""
    lines = [" ".join(line.split()) for line in written.splitlines() if line.strip()]
    cause = next((after for before, after in pairwise(lines) if before == "Caused by:"), None)
    error = next((line for line in lines if line.startswith("error")), lines[-1] if lines else "without a word")
    return (error if cause is None else f"{error} {cause}")[:WORDS_SHOWN]


@cache
def go_version(module: str) -> str:
    """The pinned version of a Go module."""
    found = re.search(rf"^(?:require )?\s*{re.escape(module)} (\S+)", (GO_SOURCES / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, f"go.mod pins {module}"
    return found[1]
