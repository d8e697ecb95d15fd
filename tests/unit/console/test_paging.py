from __future__ import annotations

import pytest

from barnabas.console.core.paging import Page, matching, page_of


@pytest.mark.parametrize(
    ("number", "items", "first", "last"), [(1, [0, 1, 2], 1, 3), (2, [3, 4], 4, 5), (9, [3, 4], 4, 5), (0, [0, 1, 2], 1, 3)]
)
def test_a_page_outside_of_the_list_is_the_nearest_one(number: int, items: list[int], first: int, last: int) -> None:
    page = page_of(list(range(5)), number, 3)
    assert (page.items, page.first, page.last, page.pages, page.total) == (items, first, last, 2, 5)


def test_an_empty_list_has_one_empty_page() -> None:
    page: Page[str] = page_of([], 1, 3)
    assert (page.items, page.first, page.last, page.pages) == ([], 0, 0, 1)


def test_a_search_finds_names_with_all_words_in_any_case_and_order() -> None:
    names = ["Orders.EU", "orders-us", "payments.eu"]
    assert matching(names, "eu ORD", str) == ["Orders.EU"]
    assert matching(names, "", str) == names
