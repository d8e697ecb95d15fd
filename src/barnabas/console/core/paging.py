"""Pages of long lists: search, order and one page of names. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    number: int
    """The first page is 1."""
    pages: int
    size: int
    total: int
    """Entries that match, on all pages."""

    @property
    def first(self) -> int:
        return (self.number - 1) * self.size + 1 if self.total else 0

    @property
    def last(self) -> int:
        return min(self.number * self.size, self.total)


def page_of(items: list[T], number: int, size: int) -> Page[T]:
    """A page behind the last one is the last one: the list may have become shorter."""
    pages = max(1, -(-len(items) // size))
    number = min(max(1, number), pages)
    return Page(items[(number - 1) * size : number * size], number, pages, size, len(items))


def matching(items: Iterable[T], search: str, name: Callable[[T], str]) -> list[T]:
    """Entries whose name has every word of the search, in any case."""
    words = search.lower().split()
    return [each for each in items if all(word in name(each).lower() for word in words)]


def ordered(items: list[T], key: Callable[[T], Any], *, descending: bool) -> list[T]:
    return sorted(items, key=key, reverse=descending)
