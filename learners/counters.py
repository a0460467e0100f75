"""Cache and dTLB misses of this process, by the program perf of Linux, where that may read them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

EVENTS = ("cache-misses", "dTLB-load-misses")
_GRACE_SECONDS = 10.0
"""What perf may take to say what it has counted."""


class CountsMissing(Exception):
    """Misses cannot be counted here; says why."""


@contextmanager
def count_events() -> Iterator[dict[str, int]]:
    """Count the EVENTS of this process during the block: they are in the mapping when it has ended.

    CountsMissing is raised before the block where there is no perf, or after it where it read nothing.
    """
    if shutil.which("perf") is None:
        raise CountsMissing("there is no program perf")
    command = (
        "perf",
        "stat",
        "-x",
        ",",
        "-e",
        ",".join(f"{event}:u" for event in EVENTS),
        "-p",
        str(os.getpid()),
    )
    found: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as perf:
        # It attaches in a moment, and does not say when it has.
        time.sleep(0.2)
        try:
            yield found
        finally:
            perf.send_signal(signal.SIGINT)
            try:
                _, said = perf.communicate(timeout=_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                perf.kill()
                said = ""
    found.update(parse_counts(said))


def parse_counts(said: str) -> dict[str, int]:
    """The counts in what `perf stat -x,` says, by event. CountsMissing where one of EVENTS is not there."""
    found = {}
    for line in said.splitlines():
        value, _, rest = line.partition(",")
        for event in EVENTS:
            if event in rest and value.isdigit():
                found[event] = int(value)
    if missing := [event for event in EVENTS if event not in found]:
        raise CountsMissing(f"perf cannot read {' and '.join(missing)} on this machine")
    return found
