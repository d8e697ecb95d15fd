"""The processor that the guide's row about state names: counts the orders of a customer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class Running(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._orders = handle.getValueState("orders", "count INT")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        (before,) = self._orders.get() or (0,)
        count = before + sum(len(each) for each in rows)
        self._orders.update((count,))
        yield pd.DataFrame({"customer": [key[0]], "orders": [count]})

    def close(self) -> None:
        pass
