from __future__ import annotations

import pytest

from barnabas.supervisor.process_count import PROCESSES_MAX, process_count


@pytest.mark.parametrize(("text", "count"), [("auto", 6), ("1", 1), ("16", 16), (str(PROCESSES_MAX), PROCESSES_MAX)])
def test_auto_is_one_process_for_each_core(text: str, count: int) -> None:
    assert process_count(text, cores=6) == count


def test_auto_has_a_limit() -> None:
    assert process_count("auto", cores=1000) == PROCESSES_MAX


@pytest.mark.parametrize("text", ["0", "-1", "all", "1.5", "", str(PROCESSES_MAX + 1)])
def test_other_words_are_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="must be auto or a number from 1 to 256"):
        process_count(text, cores=6)


def test_another_option_has_its_own_name_and_limit() -> None:
    assert process_count("auto", cores=64, option="--brokers", count_max=32) == 32
    with pytest.raises(ValueError, match="--brokers must be auto or a number from 1 to 32, but is '33'"):
        process_count("33", cores=64, option="--brokers", count_max=32)
