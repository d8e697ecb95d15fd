"""Lives the day of the depots: ``python -m examples.parcels.run``."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from examples.parcels.day import Day, live
from examples.parcels.town import open_town


def show(day: Day) -> None:
    console = Console()
    table = Table("depot", "scans", title="sent")
    for depot, count in day.sent.items():
        table.add_row(depot, str(count))
    console.print(table)
    console.print(f"versions of the schema: {day.versions}")
    console.print(f"[bold]the registry refused the third version:[/] {escape(day.refused_schema)}", highlight=False)
    console.print(f"[bold]the broker refused bytes without a schema:[/] {escape(day.refused_bytes)}", highlight=False)
    total = sum(day.sent.values())
    weighed = sum(scan.weight_grams is not None for scan in day.read["second"])
    for name, scans in day.read.items():
        console.print(f"the reader of the {name} version read {len(scans)} of {total} scans")
    console.print(f"{weighed} of them have a weight")


if __name__ == "__main__":
    with open_town() as town:
        show(live(town))
