"""Pages: templates, and the words and numbers that they show.

Every value is escaped by the template engine. A template gets ``model`` (the answer of the
operation), ``call``, and the functions of :func:`_functions`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from barnabas import __version__
from barnabas.console.core.sql_output import cell_text
from barnabas.console.web.call import page_url
from barnabas.console.web.words import NONE, bytes_text, count_text, duration_text, plural


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("barnabas.console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(page_url=page_url, plural=plural, version=__version__)
    made.filters.update(count=count_text, bytes=bytes_text, duration=duration_text, moment=moment, cell=cell_text)
    return made


def render(template: str, **context: Any) -> str:
    return environment().get_template(template).render(**context)


def moment(timestamp_ms: int | None) -> str:
    """A timestamp of Kafka, in UTC."""
    if timestamp_ms is None or timestamp_ms < 0:
        return NONE
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
