"""A table that fits the terminal: the first column has names, which are cut in the middle when the
other columns leave too little room. Those are never cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from barnabas.pipelines.display_text import shortened

# Between two columns.
_GAP = 2
# Shorter names say nothing; a terminal that has no room for them is too narrow.
NAME_WIDTH_MIN = 12


def fitted_table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, texts: int = 1) -> Table:
    """The first ``texts`` columns are aligned to the left, the others to the right. A heading may
    have several lines."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 0, 0, _GAP - 1))
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="left" if position < texts else "right", no_wrap=True)
    room = name_width(headings, rows, width)
    for name, *cells in rows:
        # Names are data: brackets in them are no markup.
        table.add_row(Text(shortened(name, room)), *map(Text, cells))
    return table


def name_width(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """The columns that are left for the names."""
    taken = 0
    for position, heading in enumerate(headings[1:], start=1):
        cells = [row[position] for row in rows if position < len(row)]
        taken += _GAP + max(map(cell_len, [*heading.split("\n"), *cells]))
    return max(width - taken, NAME_WIDTH_MIN)
