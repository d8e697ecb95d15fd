from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from barnabas.cli.errors import Refused
from barnabas.cli.produce import sources
from barnabas.cli.produce.sources import STDIN, Sources, TooLong, split


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"x", b"--")), max_size=12), st.sampled_from([b"\n", b"--", b"-\n-"]))
def test_delimiters_across_chunks_are_found(chunks: list[bytes], delimiter: bytes) -> None:
    expected = b"".join(chunks).split(delimiter)
    assert list(split(chunks, delimiter)) == (expected if expected[-1] else expected[:-1])


def test_a_record_without_an_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "RECORD_BYTES_MAX", 10)
    with pytest.raises(TooLong, match="more than 10 bytes"):
        list(split([b"12345"] * 3, b"\n"))
    assert list(split([b"12345"] * 2, b"\n")) == [b"1234512345"]


def test_files_are_read_one_after_the_other_and_lines_are_counted_in_each(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a\r\nb")
    second.write_bytes(b"c\n")
    both = Sources([first, second])
    moved: list[float] = []
    both.moved = moved.append
    assert [(text, both.place) for text in both.texts(b"\n")] == [
        (b"a", f"Line 1 of {first}"),
        (b"b", f"Line 2 of {first}"),
        (b"c", f"Line 1 of {second}"),
    ]
    assert (both.size_bytes, moved) == (6, [4, 6])
    whole = Sources([first, second])
    assert [(text, whole.place) for text in whole.whole()] == [(b"a\r\nb", str(first)), (b"c\n", str(second))]


def test_input_that_is_not_all_in_files_has_no_size(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    assert Sources([]).size_bytes is None
    assert Sources([file, STDIN]).size_bytes is None
    assert Sources([Path("/dev/null")]).size_bytes is None


def test_a_missing_file_is_found_before_the_first_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    with pytest.raises(Refused, match="nope: No such file or directory"):
        Sources([file, tmp_path / "nope"])
    with pytest.raises(Refused, match="Is a directory"):
        Sources([tmp_path])
