"""The table of ``docs/authorization.md``: what each API needs, printed from the handlers.

Regenerate it with ``python -m docs_site.permissions_page``, which rewrites the part of the page
between its two marks. A test compares the page with the handlers, so the table cannot go stale.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.api.handler import Handlers
from barnabas.api.needs import Need, Needs
from barnabas.wire.apis import ApiKey

PAGE = Path(__file__).parents[1] / "docs" / "authorization.md"
BEGIN = "<!-- permissions: printed by `python -m docs_site.permissions_page` -->\n"
END = "<!-- end of permissions -->\n"


def module_of(handlers: Handlers, key: ApiKey) -> ModuleType:
    """The module of an API, also where its handler is behind a guard."""
    handle = handlers[key]
    inner = inspect.getclosurevars(handle).nonlocals.get("handle", handle)
    module = inspect.getmodule(inner)
    assert module is not None
    return module


def table() -> str:
    lines = ["| API | needs |", "|---|---|"]
    needs = {key: module_of(CONTROLLER_HANDLERS, key).NEEDS for key in CONTROLLER_HANDLERS}
    needs |= {key: module_of(BROKER_HANDLERS, key).NEEDS for key in BROKER_HANDLERS}
    lines += [f"| {key.api_name} | {_text(needs[key])} |" for key in sorted(needs, key=lambda key: key.api_name)]
    return "\n".join(lines) + "\n"


def _text(needs: Needs) -> str:
    if needs.guard is not None:
        return _need(needs.guard)
    return ", ".join(_need(each) for each in needs.checked) or "nothing"


def _need(need: Need) -> str:
    return f"{need.operation.name} on {need.kind.name.lower().replace('_', ' ')}"


def with_table(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
