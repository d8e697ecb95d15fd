from __future__ import annotations

import pytest

from barnabas.administration.offset_reset import LogEnds, Partition, Plan
from barnabas.console.core.reset_request import ResetRow, offsets_text, read_offsets, reset_rows
from barnabas.console.errors import BadValue

ORDERS = Partition("orders", 0)


def test_offsets_are_written_and_read_as_lines() -> None:
    offsets = {ORDERS: 5, Partition("paid", 12): 0}
    assert offsets_text(offsets) == "orders,0,5\npaid,12,0\n"
    assert read_offsets("orders,0,5\r\n\r\npaid,12,0") == offsets


@pytest.mark.parametrize("text", ["", "orders", "orders,0", "orders,0,-1", "orders,zero,1", ",0,1", "orders,0,1,2", f"orders,0,{'9' * 20}"])
def test_lines_that_are_no_offsets_are_refused(text: str) -> None:
    with pytest.raises(BadValue) as refused:
        read_offsets(text)
    assert refused.value.parameter == "offsets"


def test_a_row_shows_the_records_that_are_skipped_or_read_again() -> None:
    plan = Plan({ORDERS: 3, Partition("orders", 1): 7})
    ends = {ORDERS: LogEnds(0, 10), Partition("orders", 1): LogEnds(0, 7)}
    assert reset_rows(plan, {ORDERS: 5}, ends) == [ResetRow("orders", 0, 5, 3, -2, 7), ResetRow("orders", 1, None, 7, None, 0)]
