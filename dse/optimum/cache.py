"""Certificates kept on disk, one file a problem; whatever is wrong with one, it is proven again.

Of a proof whose time ran out, the bound, the best mapping and how far it got are kept: the next run goes on
from there. That holds for the code that wrote it only, as its groups, bounds and order are that code's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache as memoised
from pathlib import Path
from typing import Any

from dse.core.certificate import Certificate, from_dict
from dse.core.cost_models import cost_model_class
from dse.core.problem import AnyProblem
from dse.core.proofs import model_sources
from dse.support import strict_json
from dse.support.files import read_text, write_whole

NAME = "dse-arena"
NODES = ".nodes"
"""Beside a certificate, what its proof goes on with, where that is more than a number."""


def user_folder() -> Path:
    """The user's own folder for certificates, where the XDG base directory specification puts it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / NAME / "certificates"


def load_certificate(problem: AnyProblem, folder: Path) -> Certificate | None:
    """The certificate of the problem kept in `folder`, its best mapping priced anew; None if there is none.

    None as well if it is damaged, was made by other code, or does not hold today. A lower bound cannot be
    priced anew: the digest beside it shows that it is what was written.
    """
    path = _path(problem, folder)
    kept = read_kept(path, "certificate", code_version(problem.model.name))
    if kept is None:
        return None
    try:
        found = from_dict(kept["certificate"], problem)
    except ValueError:
        return None
    return replace(found, unsettled=_unsettled(path, kept.get("unsettled")))


def store_certificate(problem: AnyProblem, certificate: Certificate, folder: Path) -> None:
    """Keep a certificate, whole or not at all. StorageError if that cannot be."""
    entry, path = certificate.to_dict(problem, str(problem.layer), ""), _path(problem, folder)
    more = {}
    if certificate.unsettled:
        more["unsettled"] = hashlib.sha256(certificate.unsettled).hexdigest()
        write_whole(path.with_suffix(NODES), certificate.unsettled, "certificate")
    write_kept(path, "certificate", code_version(problem.model.name), entry, more)
    if not certificate.unsettled:
        # What an earlier run left is settled now; a certificate that names no nodes does without.
        with suppress(OSError):
            path.with_suffix(NODES).unlink(missing_ok=True)


def read_kept(path: Path, what: str, code: str) -> dict[str, Any] | None:
    """What `write_kept` wrote; None if there is nothing, if it is damaged, or if other code wrote it."""
    try:
        if not path.is_file():
            return None
        kept = strict_json.parse_json(read_text(str(path), what), what)
    except (OSError, ValueError):
        return None
    if (
        not isinstance(kept, dict)
        or kept.get("code") != code
        or kept.get("digest") != digest_of(kept.get(what))
    ):
        return None
    return kept


def write_kept(path: Path, what: str, code: str, entry: object, more: Mapping[str, str]) -> None:
    """Keep plain data as `what`, with its digest and that of the code, whole or not at all."""
    kept = {"code": code, "digest": digest_of(entry), what: entry, **more}
    write_whole(path, json.dumps(kept, allow_nan=False), what)


def _unsettled(path: Path, digest: object) -> bytes:
    """The nodes that were left; none where they are not those that were written with the certificate."""
    if digest is None:
        return b""
    nodes = path.with_suffix(NODES)
    try:
        data = nodes.read_bytes() if nodes.is_file() else b""
    except OSError:
        return b""
    return data if hashlib.sha256(data).hexdigest() == digest else b""


@memoised
def code_version(model: str) -> str:
    """SHA-256 of the sources of a cost model and its certifier: with them, certificates become another's."""
    return digest_of_files(source_files(model))


def digest_of_files(files: Iterable[Path]) -> str:
    """SHA-256 of files, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def source_files(model: str) -> list[Path]:
    """The files that decide what a proof under a cost model says: solver, model, space, rules, objectives."""
    home = Path(__file__).parents[1]
    domain = home / "domains" / cost_model_class(model).domain
    own = [
        *home.glob("core/*.py"),
        *home.glob("proof/*.py"),
        *home.glob("optimum/*.py"),
        *domain.rglob("*.py"),
        *model_sources(model),
    ]
    return sorted(own)


def digest_of(entry: object) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _path(problem: AnyProblem, folder: Path) -> Path:
    return folder / f"{problem.fingerprint}.json"
