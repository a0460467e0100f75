"""A search in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dse.search.searcher import Searcher
from dse.support.numerics.cpu import other_cpu
from dse.testing.landscapes import convolution
from dse.testing.runs import WatchedRun, run

START_SECONDS = 60.0
"""What a process may take beyond its search, to start and to import libraries."""

_PROGRAM = f"import sys; from {__name__} import search; search(*sys.argv[1:])"


@dataclass(frozen=True)
class Surroundings:
    """What differs between two processes that must draw the same record."""

    hash_seed: int
    threads: int
    other_cpu: bool = False
    """Whether numerical libraries are to compute as on another CPU."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the process."""
        known = {"PYTHONHASHSEED": str(self.hash_seed), "OMP_NUM_THREADS": str(self.threads)}
        return known | (other_cpu() if self.other_cpu else {})

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.variables.items())


class FreshRun:
    """A search that has been started in another process. Use it as a context manager: its process ends."""

    def __init__(
        self, pickled: bytes, budget: int, seed: int, surroundings: Surroundings, time_limit: float
    ) -> None:
        self.surroundings = surroundings
        self._time_limit = time_limit
        self._folder = tempfile.TemporaryDirectory()
        task, self._result = Path(self._folder.name, "task"), Path(self._folder.name, "result")
        task.write_bytes(pickle.dumps((pickled, budget, seed, time_limit)))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
            **surroundings.variables,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(task), str(self._result)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def __enter__(self) -> FreshRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._folder.cleanup()

    def result(self) -> WatchedRun | str:
        """The run, or why there is none."""
        try:
            _, errors = self._process.communicate(timeout=self._time_limit + START_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it had not ended after {self._time_limit + START_SECONDS:g} s"
        if self._process.returncode:
            lines = errors.strip().splitlines()
            return f"exit code {self._process.returncode}: {lines[-1] if lines else 'no message'}"
        ended: WatchedRun = pickle.loads(self._result.read_bytes())
        return ended


def search(task: str, result: str) -> None:
    """What the process does: the search of the file `task`, its WatchedRun into the file `result`."""
    pickled, budget, seed, time_limit = pickle.loads(Path(task).read_bytes())
    searcher: Searcher = pickle.loads(pickled)
    ended = run(searcher, convolution, budget, seed=seed, time_limit=time_limit)
    Path(result).write_bytes(pickle.dumps(ended))
