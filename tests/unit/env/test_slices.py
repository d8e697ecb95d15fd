"""Long work on the loop leaves room for other work."""

from __future__ import annotations

import asyncio

from barnabas.env.slices import ITEMS_PER_SLICE, in_slices
from tests.unit import simulated


def test_other_callbacks_run_after_every_slice_and_never_inside_one() -> None:
    seen: list[int | str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async for item in in_slices(range(7), size=3):
            seen.append(item)
            loop.call_soon(seen.append, "other")
        await asyncio.sleep(0)

    simulated.run(main())
    assert seen == [0, 1, 2, *["other"] * 3, 3, 4, 5, *["other"] * 3, 6, "other"]


def test_work_that_fits_into_one_slice_takes_one_turn_of_the_loop() -> None:
    seen: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().call_soon(seen.append, "other")
        seen.extend([item async for item in in_slices(range(ITEMS_PER_SLICE))])
        await asyncio.sleep(0)

    simulated.run(main())
    assert seen == [*range(ITEMS_PER_SLICE), "other"]
