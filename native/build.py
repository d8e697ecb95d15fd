"""Compiles the record scanner: ``python native/build.py`` puts it beside its Python twin in src.

It needs a C compiler and the headers of Python, and nothing else. Where one is missing, it says so
and succeeds: Barnabas works without it, only slower (``docs/decisions/0021``).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "native" / "record_scanner.c"
# Of the stable interface: the file serves every Python from 3.11 on.
FILE_NAME = "_record_scanner.abi3.so"
PACKAGE = "barnabas/model"
TARGET = ROOT / "src" / PACKAGE / FILE_NAME
# Signed overflow wraps, as everywhere in CPython.
FLAGS = ("-O3", "-fwrapv", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wno-cast-function-type", "-Wno-missing-field-initializers")
COMPILE_SECONDS_MAX = 120.0


class CannotCompile(Exception):
    """A sentence why."""


def compiler() -> list[str]:
    """As Python itself chooses: the variable CC, the compiler of this Python, or ``cc``."""
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc"):
        words = shlex.split(command or "")
        if words and shutil.which(words[0]):
            return words
    raise CannotCompile("There is no C compiler (install gcc or clang).")


def build(target: Path) -> None:
    """Write the compiled scanner to ``target``, whole or not at all. Raises ``CannotCompile``."""
    headers = sysconfig.get_path("include")
    command = compiler()
    if not (Path(headers) / "Python.h").exists():
        raise CannotCompile(f"The headers of Python are not in {headers} (install python3-dev).")
    if sys.platform == "darwin":
        command = [*command, "-undefined", "dynamic_lookup"]
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(f".{os.getpid()}")
    try:
        done = subprocess.run(  # noqa: S603 - the compiler that the caller chose
            [*command, *FLAGS, f"-I{headers}", str(SOURCE), "-o", str(unfinished)],
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS_MAX,
            check=False,
        )
        if done.returncode:
            raise CannotCompile(f"The C compiler refuses {SOURCE.name}:\n{done.stderr.rstrip()}")
        unfinished.replace(target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotCompile(f"The C compiler does not run: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def wheel_tag() -> str:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp311-abi3-{platform}"


def main() -> None:
    try:
        build(TARGET)
    except CannotCompile as reason:
        # One of an older source must not stay.
        TARGET.unlink(missing_ok=True)
        print(f"The record scanner is not compiled, so records are read in Python, more slowly. {reason}")


if __name__ == "__main__":
    main()
