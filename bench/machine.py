"""The machine of the measurement: facts that explain numbers, without identifying the machine."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import confluent_kafka


def describe() -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "load average before": f"{os.getloadavg()[0]:.2f}",
        "Python": platform.python_version(),
        "Java": _java() or "none",
        "librdkafka": confluent_kafka.libversion()[0],
    }


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _java() -> str | None:
    if shutil.which("java") is None:
        return None
    printed = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return printed[1] if len(printed) > 1 else None
