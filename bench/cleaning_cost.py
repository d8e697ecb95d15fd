"""The processor time of one pass of the cleaner, compiled and in plain Python, in turns.

    python -m bench.cleaning_cost [--megabytes 100] [--records 4500] [--codec none] [--rounds 3]

Each pass runs in a process of its own on the same directory and is thrown away afterwards, so the
times hold on a machine with other work to do, where seconds on the clock do not. The log is that of
the row ``compaction``: records of 200 bytes, of 50,000 keys in random order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from barnabas.env.real_disk import RealDisk
from barnabas.model.compiled import PURE_VARIABLE, is_compiled
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.storage.compaction.cleaned_files import remove_cleaned
from barnabas.storage.compaction.cleaning import clean
from barnabas.storage.compaction.cleaning_job import CleaningJob, SourceSegment
from barnabas.storage.file_names import LOG_SUFFIX, offset_name
from bench.rows.compaction import KEY_BYTES, KEYS, RECORD_BYTES, SEGMENT_BYTES

MAP_BYTES = int(128 * 1024 * 1024 * 0.9)
NOW_MS = 1_700_000_000_000
ONE_PASS = "--one-pass"


def _fill(directory: Path, megabytes: int, records: int, codec: Codec) -> None:
    random, offset, segment = Random(megabytes), 0, bytearray()
    base_offset, total = 0, megabytes * 1_000_000 // RECORD_BYTES
    value = b"v" * (RECORD_BYTES - KEY_BYTES)
    while offset < total:
        count = min(records, total - offset)
        keys = [b"%0*d" % (KEY_BYTES, random.randrange(KEYS)) for _ in range(count)]
        rows = [Record(offset + index, NOW_MS + index // 50, key, value) for index, key in enumerate(keys)]
        segment += build_batch(rows, base_offset=offset, codec=codec)
        offset += count
        if len(segment) >= SEGMENT_BYTES or offset == total:
            (directory / f"{offset_name(base_offset)}{LOG_SUFFIX}").write_bytes(segment)
            base_offset, segment = offset, bytearray()
    (directory / f"{offset_name(offset)}{LOG_SUFFIX}").touch()


def _job(directory: Path) -> CleaningJob:
    bases = sorted(int(path.stem) for path in directory.glob(f"*{LOG_SUFFIX}"))
    sizes = [(directory / f"{offset_name(base)}{LOG_SUFFIX}").stat().st_size for base in bases]
    groups = tuple((SourceSegment(*each),) for each in zip(bases[:-1], bases[1:], sizes[:-1], strict=True))
    return CleaningJob(
        directory=str(directory),
        groups=groups,
        first_dirty_offset=0,
        end_offset=bases[-1],
        aborted=(),
        producers={},
        now_ms=NOW_MS,
        delete_retention_ms=86_400_000,
        map_bytes_max=MAP_BYTES,
        index_interval_bytes=4096,
    )


def _one_pass(directory: Path) -> None:
    job = _job(directory)
    began = time.process_time()
    result = clean(job, RealDisk())
    print(time.process_time() - began, result.stats.records_kept, result.stats.map_bytes)
    for segment in result.segments:
        remove_cleaned(RealDisk(), job.directory, segment.base_offset)


def _measure(directory: Path, *, pure: bool) -> tuple[float, int, int]:
    environment = os.environ | {PURE_VARIABLE: "1" if pure else ""}
    command = [sys.executable, "-m", "bench.cleaning_cost", ONE_PASS, str(directory)]
    seconds, kept, map_bytes = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), int(kept), int(map_bytes)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cleaning_cost", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--records", type=int, default=4500, help="the records of a batch")
    parser.add_argument("--codec", choices=[each.name.lower() for each in Codec], default="none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(ONE_PASS, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one_pass is not None:
        _one_pass(chosen.one_pass)
        return
    if not is_compiled():
        print("The record scanner is not compiled here, so there is nothing to compare.")
        return
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _fill(directory, chosen.megabytes, chosen.records, Codec[chosen.codec.upper()])
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(chosen.rounds):
            for pure, taken in times.items():
                seconds, kept, map_bytes = _measure(directory, pure=pure)
                taken.append(seconds)
                way = "python" if pure else "compiled"
                print(f"{way:8} {seconds:6.3f} s, {kept} records stay, map of {map_bytes / 1e6:.1f} MB", flush=True)
    python, compiled = median(times[True]), median(times[False])
    print(f"python {python:.3f} s, compiled {compiled:.3f} s of processor time, {python / compiled:.1f} times faster (medians)")


if __name__ == "__main__":
    main()
