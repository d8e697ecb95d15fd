"""Style sheets, scripts and the licences of the vendored ones, all from the package itself."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.responses import Response

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
# Addresses carry the version of the package, so a new release is seen at once.
_CACHE: Final = "public, max-age=86400"


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """All of them, by their paths below ``static``: a path of a request is only ever looked up."""
    found = {}
    root = files("barnabas.console") / "static"
    for folder in ("", "vendor"):
        place = root / folder if folder else root
        for each in place.iterdir():
            kind = _TYPES.get(each.name.rpartition(".")[2])
            if kind is not None and each.is_file():
                found[f"{folder}/{each.name}".lstrip("/")] = each.read_bytes(), kind
    return found


def static_response(path: str) -> Response | None:
    found = _files().get(path)
    return None if found is None else Response(found[0], media_type=found[1], headers={"Cache-Control": _CACHE})
