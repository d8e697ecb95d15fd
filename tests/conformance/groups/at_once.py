"""One claim, checked for several kinds of members at the same time, because most of it is
waiting.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

from tests.conformance.groups.members import Member

Claim = Callable[..., None]


def for_each_of(kinds: Sequence[type[Member]]) -> Callable[[Claim], Claim]:
    """The test runs once for each of ``kinds``, which it receives as ``kind``, each in a thread and
    with a ``group`` of its own."""

    def decorate(claim: Claim) -> Claim:
        @wraps(claim)
        def claims(*, group: str, **fixtures: Any) -> None:
            failures: list[Exception] = []

            def check(number: int) -> None:
                try:
                    claim(kind=kinds[number], group=f"{group}-{number}", **fixtures)
                except Exception as failure:  # noqa: BLE001 - raised again below, with those of the others
                    failure.add_note(f"with {kinds[number].client}")
                    failures.append(failure)

            with ThreadPoolExecutor(len(kinds)) as threads:
                list(threads.map(check, range(len(kinds))))
            if failures:
                raise ExceptionGroup(f"{claim.__name__} does not hold", failures)

        signature = inspect.signature(claim)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name != "kind"]
        claims.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return claims

    return decorate
