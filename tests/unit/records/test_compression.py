"""The four codecs, compared with the libraries that other clients use, and given hostile data."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import lz4.block
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given, strategies as st

from barnabas.records.compression import DECOMPRESSED_BYTES_MAX, Codec, DecompressionFailed, compress, decompress
from tests.unit.records.made import repeatable

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MEGABYTE = 1 << 20
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)

# Empty, less than a block, exactly one, several, and incompressible data.
SAMPLES = {
    "nothing": b"",
    "one byte": b"x",
    "text": b"the quick brown fox jumps over the lazy dog " * 100,
    "one snappy block": bytes(32 * 1024),
    "one lz4 block": b"ab" * (32 * 1024),
    "several blocks": bytes(range(256)) * 1024,
    "noise": b"".join(struct.pack(">I", zlib.crc32(struct.pack(">I", n))) for n in range(40_000)),
}


def xerial_decompress(data: bytes) -> bytes:
    assert data.startswith(XERIAL)
    out, position = b"", len(XERIAL)
    while position < len(data):
        (length,) = struct.unpack_from(">i", data, position)
        out += snappy.uncompress(data[position + 4 : position + 4 + length])
        position += 4 + length
    return out


def xerial_compress(data: bytes, block_bytes: int) -> bytes:
    blocks = [snappy.compress(data[start : start + block_bytes]) for start in range(0, len(data), block_bytes)]
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


READERS = {
    Codec.GZIP: gzip.decompress,
    Codec.SNAPPY: xerial_decompress,
    Codec.LZ4: lz4.frame.decompress,
    Codec.ZSTD: lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
WRITERS = {
    "gzip": (Codec.GZIP, gzip.compress),
    "gzip, fastest": (Codec.GZIP, lambda data: gzip.compress(data, 1)),
    "snappy, xerial's framing": (Codec.SNAPPY, lambda data: xerial_compress(data, 32 * 1024)),
    "snappy, xerial's framing in small blocks": (Codec.SNAPPY, lambda data: xerial_compress(data, 1000)),
    "snappy, one bare block": (Codec.SNAPPY, snappy.compress),
    "lz4": (Codec.LZ4, lz4.frame.compress),
    "lz4, linked blocks of 4 MiB with checksums": (
        Codec.LZ4,
        lambda data: lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX4MB, content_checksum=True, block_checksum=True),
    ),
    "lz4, independent blocks without a size": (Codec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False, store_size=False)),
    "zstd": (Codec.ZSTD, zstandard.ZstdCompressor().compress),
    "zstd, no size in the frame": (
        Codec.ZSTD,
        lambda data: zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(data),
    ),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", COMPRESSED)
def test_other_libraries_read_our_compressed_data(codec: Codec, sample: str) -> None:
    assert READERS[codec](compress(codec, SAMPLES[sample])) == SAMPLES[sample]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("writer", WRITERS)
def test_compressed_data_of_other_libraries_is_read(writer: str, sample: str) -> None:
    codec, write = WRITERS[writer]
    assert bytes(decompress(codec, write(SAMPLES[sample]))) == SAMPLES[sample]


@repeatable
@given(st.sampled_from(Codec), st.binary(max_size=5000))
def test_compressed_data_is_read_from_any_kind_of_buffer(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, memoryview(data))
    assert compressed == compress(codec, bytearray(data))
    for kind in (bytes, bytearray, memoryview):
        assert bytes(decompress(codec, kind(compressed))) == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_higher_level_compresses_better(codec: Codec) -> None:
    text = b"".join(b"user-%d clicked page-%d\n" % (n % 997, n % 89) for n in range(20_000))
    assert len(compress(codec, text, 9)) < len(compress(codec, text, 1))
    assert len(compress(codec, text)) == len(compress(codec, text, 6 if codec is Codec.GZIP else 3))


def test_lz4_is_framed_so_that_java_reads_it() -> None:
    # Java refuses linked blocks; it needs version 1, independent blocks, 64 KiB, and the right
    # checksum of the descriptor.
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, SAMPLES["several blocks"]))
    assert (info["block_linked"], info["block_size"], info["content_checksum"]) == (False, 64 * 1024, False)


def test_snappy_is_framed_as_java_frames_it() -> None:
    assert compress(Codec.SNAPPY, b"abc").startswith(XERIAL)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_refused(codec: int) -> None:
    with pytest.raises(DecompressionFailed, match=f"codec {codec}"):
        decompress(codec, b"")


@pytest.mark.parametrize("codec", COMPRESSED)
def test_garbage_is_refused(codec: Codec) -> None:
    for garbage in (b"\xff" * 50, b"\x00" * 50, b"garbage, no codec at all", SAMPLES["noise"][:1000]):
        with pytest.raises(DecompressionFailed):
            decompress(codec, garbage)


@repeatable
@given(st.sampled_from(COMPRESSED), st.data())
def test_damaged_data_is_either_refused_or_bounded_in_size(codec: Codec, data: st.DataObject) -> None:
    compressed = bytearray(compress(codec, SAMPLES["text"]))
    for _ in range(data.draw(st.integers(1, 4))):
        compressed[data.draw(st.integers(0, len(compressed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(DecompressionFailed):
        assert len(decompress(codec, bytes(compressed), 2 * MEGABYTE)) <= 2 * MEGABYTE


@repeatable
@given(st.sampled_from(COMPRESSED), st.data())
def test_truncated_data_is_refused(codec: Codec, data: st.DataObject) -> None:
    compressed = compress(codec, SAMPLES["noise"][:40_000])
    kept = data.draw(st.integers(1, len(compressed) - 1))
    if codec is Codec.SNAPPY and kept >= len(XERIAL):
        # A cut between two blocks leaves whole ones; the reader of the records notices that some
        # are missing.
        with suppress(DecompressionFailed):
            assert SAMPLES["noise"].startswith(decompress(codec, compressed[:kept]))
        return
    with pytest.raises(DecompressionFailed):
        decompress(codec, compressed[:kept])


@pytest.mark.parametrize("data", [XERIAL[:8], XERIAL[:15], XERIAL + b"\x00\x00\x00", XERIAL + b"\x00\x00\x00\x05abc", XERIAL + b"\xff" * 8])
def test_a_snappy_frame_that_does_not_add_up_is_refused(data: bytes) -> None:
    with pytest.raises(DecompressionFailed, match="snappy"):
        decompress(Codec.SNAPPY, data)


# -- bombs


def gzip_bomb(size_bytes: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        for _ in range(size_bytes // MEGABYTE):
            file.write(bytes(MEGABYTE))
    return out.getvalue()


def zstd_bomb(size_bytes: int) -> bytes:
    compressor = zstandard.ZstdCompressor().compressobj()
    return b"".join(compressor.compress(bytes(MEGABYTE)) for _ in range(size_bytes // MEGABYTE)) + compressor.flush()


def lz4_bomb(size_bytes: int) -> bytes:
    block: bytes = lz4.block.compress(bytes(4 * MEGABYTE), store_size=False)
    head: bytes = lz4.frame.compress(b"", block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False, store_size=False)[:7]
    return head + (struct.pack("<I", len(block)) + block) * (size_bytes // (4 * MEGABYTE)) + bytes(4)


def xerial_bomb(size_bytes: int) -> bytes:
    block: bytes = snappy.compress(bytes(MEGABYTE))
    return XERIAL + (struct.pack(">i", len(block)) + block) * (size_bytes // MEGABYTE)


BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, lambda: gzip_bomb(256 * MEGABYTE)),
    "zstd": (Codec.ZSTD, lambda: zstd_bomb(1024 * MEGABYTE)),
    "lz4": (Codec.LZ4, lambda: lz4_bomb(1024 * MEGABYTE)),
    "snappy in blocks": (Codec.SNAPPY, lambda: xerial_bomb(512 * MEGABYTE)),
    "snappy that announces 4 GB": (Codec.SNAPPY, lambda: b"\xff\xff\xff\xff\x0f" + b"\x00" * 20),
    "snappy in a block that announces 4 GB": (Codec.SNAPPY, lambda: XERIAL + struct.pack(">i", 9) + b"\xff\xff\xff\xff\x0f" + b"\x00" * 4),
    "zstd that announces 2^63 bytes": (Codec.ZSTD, lambda: bytes.fromhex("28b52ffd e0 ffffffffffffff7f 010000")),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_decompression_bomb_takes_no_more_memory_than_allowed(bomb: str) -> None:
    codec, build = BOMBS[bomb]
    data = build()
    allowed = 4 * MEGABYTE
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionFailed):
            decompress(codec, data, allowed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * allowed + 2 * len(data)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_bound_on_decompressed_size_is_exact(codec: Codec) -> None:
    data = SAMPLES["several blocks"]
    assert bytes(decompress(codec, compress(codec, data), len(data))) == data
    with pytest.raises(DecompressionFailed):
        decompress(codec, compress(codec, data), len(data) - 1)


def test_the_default_bound_of_a_batch_is_128_mb() -> None:
    assert DECOMPRESSED_BYTES_MAX == 128 * MEGABYTE
    with pytest.raises(DecompressionFailed, match="more than 134217728"):
        decompress(Codec.ZSTD, zstd_bomb(129 * MEGABYTE))
