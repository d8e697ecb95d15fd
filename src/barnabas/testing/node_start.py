"""``python -m barnabas.testing.node_start`` is :mod:`node_process`, imported without looking for
garbage.

All that is imported stays until the process ends. To look for garbage among it again and again
takes a tenth of the time of a start.
"""

from __future__ import annotations

import gc


def start() -> None:
    gc.disable()
    from barnabas.testing.node_process import main

    gc.freeze()
    gc.enable()
    main()


if __name__ == "__main__":
    start()
