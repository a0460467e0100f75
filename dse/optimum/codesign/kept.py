"""Results of co-design kept on disk, one file a question, beside the certificates of layers.

A result holds for the code that wrote it only: all of proofs, of cost models, and of what spaces mean. It is
kept with a digest, so that what is read is what was written; whatever is wrong with it, it is proven again.
`--verify` checks one that is read like any other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache as memoised
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from dse.domains.codesign.space import HardwareSpace
from dse.optimum.cache import digest_of, digest_of_files, read_kept, user_folder, write_kept
from dse.optimum.codesign.workload import Workload
from dse.support.errors import StorageError
from dse.support.files import make_folder

if TYPE_CHECKING:
    from dse.optimum.codesign.result import Codesign

RESULT = "result"
FOLDERS = ("core", "domains", "models", "optimum", "proof", "support")
FIGURES = ("status", "lower_bound", "best", "boxes", "machines_excluded", "proofs", "certificate")


class Kept:
    """Where the result of a question is kept; nowhere with `cache` False, or under a user's own model."""

    def __init__(
        self,
        work: Workload,
        space: HardwareSpace,
        objective: str,
        caps: Mapping[str, float],
        cache: bool | str | Path,
    ) -> None:
        self._begun = perf_counter()
        self._work, self._space, self._objective, self._caps = work, space, objective, dict(caps)
        self._must = cache is not True
        self._folder: Path | None = None
        if cache is not False and type(space.model).__module__.startswith("dse."):
            self._folder = user_folder() if cache is True else Path(cache)

    @property
    def _path(self) -> Path:
        question = {
            "space": self._space.written() | {"name": self._space.name},
            "network": self._work.name,
            "layers": [layer.to_dict() | {"repeats": layer.repeats} for layer in self._work.layers],
            "times": self._work.times,
            "parts": [asdict(part) for part in self._work.parts],
            "objective": self._objective,
            "caps": self._caps,
        }
        assert self._folder is not None
        return self._folder / f"codesign-{digest_of(question)}.json"

    def load(self) -> Codesign | None:
        """The result, if it is kept and whole."""
        from dse.optimum.codesign.result import Codesign

        kept = None if self._folder is None else read_kept(self._path, RESULT, code_version())
        if kept is None:
            return None
        found = kept[RESULT]
        if found["lower_bound"] is None:
            found["lower_bound"] = found["certificate"]["lower_bound"] = math.inf
        return Codesign(
            network=self._work.name,
            objective=self._objective,
            space=self._space,
            layers=self._work.layers,
            times=self._work.times,
            caps=self._caps,
            proofs_kept=found["proofs"],
            cpu_seconds=0.0,
            seconds=perf_counter() - self._begun,
            interrupted=False,
            **{name: found[name] for name in FIGURES},
        )

    def store(self, found: Codesign) -> None:
        """Keep a result that more time would not change. StorageError where a folder was named and fails."""
        if self._folder is None or found.interrupted or not found.ended:
            return
        entry = {name: getattr(found, name) for name in FIGURES}
        if found.lower_bound == math.inf:
            # JSON has no inf.
            entry |= {"lower_bound": None, "certificate": {**found.certificate, "lower_bound": None}}
        # As it is read again: keys are text, tuples are lists.
        entry = json.loads(json.dumps(entry))
        try:
            make_folder(self._folder)
            write_kept(self._path, RESULT, code_version(), entry, {})
        except StorageError:
            if self._must:
                raise


@memoised
def code_version() -> str:
    """SHA-256 of all code that a result depends on."""
    home = Path(__file__).parents[2]
    return digest_of_files(source for folder in FOLDERS for source in sorted((home / folder).rglob("*.py")))
