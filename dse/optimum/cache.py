"""Certificates kept on disk, one file a problem; whatever is wrong with one, it is proven again."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache as memoised
from pathlib import Path

from dse import __version__
from dse.optimum.certificate import OPTIMAL, Certificate, from_dict
from dse.problem.problem import Problem
from dse.support import strict_json
from dse.support.errors import InputError
from dse.support.files import write_whole

NAME = "dse-arena"


def user_folder() -> Path:
    """The user's own folder for certificates, where the XDG base directory specification puts it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / NAME / "certificates"


def load(problem: Problem, folder: Path) -> Certificate | None:
    """The certificate of the problem kept in `folder`, its best mapping priced anew; None if there is none.

    None as well if it is damaged, was made by other code, or does not hold today.
    """
    try:
        text = _path(problem, folder).read_text(encoding="utf-8")
        kept = strict_json.parse(text, "certificate")
        if not isinstance(kept, dict) or kept.get("code") != code_version(problem.model.name):
            return None
        found = from_dict(kept.get("certificate"), problem)
    except (OSError, UnicodeDecodeError, InputError):
        return None
    return found if found.status == OPTIMAL else None


def store(problem: Problem, certificate: Certificate, folder: Path) -> None:
    """Keep a certificate of an optimum, whole or not at all. StorageError if that cannot be."""
    if certificate.status != OPTIMAL:
        return
    code = code_version(problem.model.name)
    kept = {"code": code, "certificate": certificate.to_dict(problem, str(problem.layer), "")}
    write_whole(_path(problem, folder), json.dumps(kept, allow_nan=False), "certificate")


@memoised
def code_version(model: str) -> str:
    """SHA-256 of the sources of a cost model and its certifier: with them, certificates become another's."""
    digest = hashlib.sha256(__version__.encode())
    for source in sources(model):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def sources(model: str) -> list[Path]:
    """The files that decide what a proof under a cost model says: solver, model, space, rules, objectives."""
    home = Path(__file__).parents[1]
    own = ("optimum", f"optimum/{model}", "cost", f"cost/{model}", "problem", "space", "spec")
    folders = (*own, "space/hierarchy", "space/hierarchy/kernels", "spec/hierarchy")
    return sorted(source for folder in folders for source in (home / folder).glob("*.py"))


def _path(problem: Problem, folder: Path) -> Path:
    return folder / f"{problem.fingerprint}.json"
