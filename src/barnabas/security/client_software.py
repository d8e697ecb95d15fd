"""The name and version that a client gives its software, from version 3 of ApiVersions."""

from __future__ import annotations

import re
from typing import Final

from barnabas.wire.messages.api_versions import ApiVersionsRequest

VERSION_MIN: Final = 3
_WORD: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def software_is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Whether both are words, as they end up in logs and metrics."""
    return version < VERSION_MIN or all(_WORD.fullmatch(each) for each in (request.client_software_name, request.client_software_version))
