"""Which settings are secrets, by their names.

Other programs judge names too: :data:`SECRET_NAMES` is a regular expression that Java and Python
both understand, so that Spark hides the same settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# ``ssl.keystore.key`` and ``ssl.key.pem`` are private keys; ``ssl.key.location`` only names a file.
_PARTS: Final = ("secret", "password", "jaas[.]config", "keystore[.]key", "key[.]pem", "token", "access[.]?key", "oauthbearer[.]config")
SECRET_NAMES: Final = f"(?i){'|'.join(_PARTS)}"
HIDDEN: Final = "(hidden)"

_SECRET: Final = re.compile(SECRET_NAMES)
_NAMES_A_PLACE: Final = (".url", ".file", ".location")


def is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None and not name.endswith(_NAMES_A_PLACE)


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, with :data:`HIDDEN` in place of each secret."""
    return {name: HIDDEN if is_secret(name) else value for name, value in settings.items()}
