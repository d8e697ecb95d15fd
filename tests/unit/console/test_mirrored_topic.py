from __future__ import annotations

import pytest

from barnabas.console.core.mirrored_topic import alias_of, checkpoints_beside


@pytest.mark.parametrize(
    ("topic", "checkpoints"),
    [
        ("A.orders", "A.checkpoints.internal"),
        ("B.A.orders", "B.checkpoints.internal"),
        ("orders", None),
        (".orders", None),
        ("A.", None),
        ("A.checkpoints.internal", None),
    ],
)
def test_a_copy_has_the_checkpoints_of_its_source_beside_it(topic: str, checkpoints: str | None) -> None:
    assert checkpoints_beside(topic) == checkpoints


def test_the_source_is_the_first_part_of_the_name() -> None:
    assert alias_of("B.A.orders") == "B"
