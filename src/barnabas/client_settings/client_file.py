"""A file of client settings: Java's ``.properties`` format, with Java's or librdkafka's names."""

from __future__ import annotations

from pathlib import Path

from barnabas.client_settings.errors import SettingsRefused
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties

# Client settings with certificates in them need some ten kilobytes.
FILE_BYTES_MAX = 1024 * 1024


def read_client_file(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
        if len(data) > FILE_BYTES_MAX:
            raise SettingsRefused(f"{path} has more than {FILE_BYTES_MAX} bytes, so it is not a file of client settings.")
        return read_properties(data.decode("utf-8"))
    except OSError as error:
        raise SettingsRefused(f"{path}: {error.strerror}.") from error
    except (ConfigError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{path} is not a properties file: {error}.") from error
