"""The file that holds the profiles: ``barnabas/profiles.toml`` in the user's configuration
directory.

A profile is a name and the client properties of a cluster, ``bootstrap.servers`` among them::

    use = "prod"

    [profiles.prod]
    "bootstrap.servers" = "kafka-1:9092,kafka-2:9092"
    "security.protocol" = "sasl_ssl"

The file may hold passwords, so only its owner can read it (mode 0600). It is written as a whole to
a file beside it and then renamed, so that a reader never sees half of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from barnabas.cli.errors import Refused

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER: Final = "# Written by `barnabas profile`, which does not keep comments.\n"


@dataclass(frozen=True, slots=True)
class ProfileFile:
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    used: str | None = None

    @classmethod
    def read(cls) -> ProfileFile:
        """Without a file there are no profiles. Raises ``Refused`` for a file that is damaged."""
        path = profile_path()
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise Refused(f"{path} is not UTF-8: {error}.") from error
        return _parsed(text, path)

    @property
    def used_properties(self) -> Mapping[str, str]:
        return self.get(self.used) if self.used is not None else {}

    def get(self, name: str) -> Mapping[str, str]:
        if not name:
            raise Refused("The name of a profile is empty.")
        if name not in self.profiles:
            known = f"; there are {', '.join(sorted(self.profiles))}" if self.profiles else ""
            raise Refused(f"There is no profile {name}{known}.")
        return self.profiles[name]

    def with_profile(self, name: str, properties: Mapping[str, str]) -> ProfileFile:
        if not _NAME.fullmatch(name):
            raise Refused(f"A profile's name has letters, digits, dots, dashes and underscores, but was given {name!r}.")
        return replace(self, profiles={**self.profiles, name: dict(properties)})

    def without(self, name: str) -> ProfileFile:
        self.get(name)
        kept = {each: properties for each, properties in self.profiles.items() if each != name}
        return ProfileFile(kept, None if self.used == name else self.used)

    def using(self, name: str | None) -> ProfileFile:
        if name is not None:
            self.get(name)
        return replace(self, used=name)

    def write(self) -> None:
        import tempfile

        path = profile_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # mkstemp makes the file with mode 0600.
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".profiles-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as target:
                    target.write(self._text())
                os.replace(temporary, path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise Refused(f"{path} cannot be written: {error.strerror}.") from error

    def _text(self) -> str:
        lines = [_HEADER]
        if self.used is not None:
            lines.append(f"use = {_quoted(self.used)}\n")
        for name, properties in self.profiles.items():
            lines.append(f"\n[profiles.{_quoted(name)}]\n")
            lines += (f"{_quoted(key)} = {_quoted(value)}\n" for key, value in properties.items())
        return "".join(lines)


def profile_path() -> Path:
    """``XDG_CONFIG_HOME`` counts only if it is absolute, as its specification says."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    directory = Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~")) / ".config"
    return directory / "barnabas" / "profiles.toml"


def _quoted(text: str) -> str:
    import json

    # TOML's basic strings are JSON's, except for one control character that TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parsed(text: str, path: Path) -> ProfileFile:
    import tomllib

    try:
        read: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not TOML: {error}.") from error
    profiles, used = read.get("profiles", {}), read.get("use")
    tables = profiles.values() if isinstance(profiles, dict) else [None]
    if not all(isinstance(table, dict) and all(isinstance(value, str) for value in table.values()) for table in tables):
        raise Refused(f"{path} must have a table of strings for each profile, such as [profiles.prod].")
    if not isinstance(used, str | None):
        raise Refused(f"{path} must name one profile after use, but has {used!r}.")
    return ProfileFile(profiles, used)
