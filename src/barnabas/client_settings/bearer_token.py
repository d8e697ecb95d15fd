"""The token of OAUTHBEARER, from a setting or from a file.

Neither client has a setting for this that both understand. Java reads a token from a file when
``sasl.oauthbearer.token.endpoint.url`` is a ``file:`` URL, which :mod:`~.java_names` turns into
:data:`TOKEN_FILE`; librdkafka calls a function, which :func:`token_callback` makes. A file is read
again for each login, because the program that renews a token replaces its file.

The token is not verified here: the broker does that. Only its end is read from it, so that
librdkafka logs in again in time.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from barnabas.client_settings.delegation_token import without_token_login
from barnabas.client_settings.errors import SettingsRefused

TOKEN: Final = "sasl.oauthbearer.token"  # noqa: S105 - the name of a setting
TOKEN_FILE: Final = "sasl.oauthbearer.token.file"  # noqa: S105
# Identity providers issue tokens of one to four kilobytes.
TOKEN_BYTES_MAX: Final = 64 * 1024
# For a token that does not tell its end. librdkafka asks again after four fifths of this.
_LIFETIME_SECONDS: Final = 3600.0


class BearerToken(NamedTuple):
    text: str
    expires_seconds: float  # since the epoch

    def __repr__(self) -> str:
        return f"BearerToken(expires_seconds={self.expires_seconds})"


def has_token(settings: Mapping[str, str]) -> bool:
    return TOKEN in settings or TOKEN_FILE in settings


def read_token(settings: Mapping[str, str]) -> BearerToken:
    """Raises :class:`SettingsRefused` when there is no token, or one that has expired."""
    text = settings[TOKEN].strip() if TOKEN in settings else _file_text(Path(settings[TOKEN_FILE]))
    if not text:
        raise SettingsRefused(f"{TOKEN if TOKEN in settings else settings[TOKEN_FILE]} has no token.")
    now, end = time.time(), _end_of(text)
    if end is not None and end <= now:
        raise SettingsRefused(f"The token of {TOKEN if TOKEN in settings else settings[TOKEN_FILE]} expired {now - end:.0f} s ago.")
    return BearerToken(text, end or now + _LIFETIME_SECONDS)


def for_librdkafka_client(settings: Mapping[str, str]) -> dict[str, Any]:
    """The settings without those of the token, and with the function that librdkafka calls for
    one. It can be sent to Spark's tasks. Raises :class:`SettingsRefused` when there is no token
    now, since librdkafka would wait for one, and for a login that librdkafka does not have."""
    settings = without_token_login(settings)
    if not has_token(settings):
        return settings
    own: dict[str, str] = {name: settings[name] for name in (TOKEN, TOKEN_FILE) if name in settings}
    read_token(own)
    return {**{name: value for name, value in settings.items() if name not in own}, "oauth_cb": token_callback(own)}


def token_callback(own: Mapping[str, str]) -> Callable[[str], tuple[str, float]]:
    return partial(_answer, dict(own))


def _answer(own: dict[str, str], _: str) -> tuple[str, float]:
    token = read_token(own)
    return token.text, token.expires_seconds


def _file_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(TOKEN_BYTES_MAX).decode("utf-8").strip()
    except OSError as error:
        raise SettingsRefused(f"The token cannot be read from {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsRefused(f"{path} has no token: it is not text.") from error


def _end_of(token: str) -> float | None:
    """``exp`` of a JSON web token; None for a token of another kind."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) else None
