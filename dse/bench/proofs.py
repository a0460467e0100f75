"""How long named proofs take: each a command of `dse`, in a process of its own that has kept nothing.

A TOML file has the cases, each with what was measured before; see `examples/proofs/cases.toml`.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dse.report.formats import Section, markdown_table
from dse.support.errors import InputError, unknown_name
from dse.support.files import write_whole
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import read_toml

Row = dict[str, Any]

HEADS = {
    "case": "case",
    "cpu_seconds": "CPU s",
    "start_seconds": "to start",
    "wall_seconds": "wall s",
    "peak_mb": "peak MB",
    "status": "status",
    "gap_percent": "gap %",
    "before": "before",
}
FAILED = "failed: "
"""What the status of a case begins with whose command gave no result, though it ended."""
BESIDES, COMPILING = 60.0, 600.0
"""Seconds that a process may take beside its proofs, of which there may be two: to start, to check, to print;
and those of a call before it that compiles kernels."""
PROGRAM = (sys.executable, "-m", "dse")
REFUSED = 2
"""The exit code of a command that was wrong."""
COMPILED = "kernels were compiled"
"""What a command says that had to compile some itself."""


@dataclass(frozen=True)
class Case(Schema):
    """A command of `dse`, and what was measured of it before.

    Of one that is `kept` its second call counts, of a `first` one a call that finds no compiled kernels.
    """

    name: Annotated[str, Limits("a name of a-z, 0-9 and '-'", pattern="^[a-z0-9-]+$")]
    command: Annotated[str, Limits("'certify ...' or 'codesign ...'", pattern="^(certify|codesign) ")]
    before: str
    kept: bool = False
    first: bool = False


@dataclass(frozen=True)
class _CaseFile(Schema):
    cases: Annotated[list[Case], Limits("one or more [[cases]] tables", min_length=1)]


def read_cases(path: str, names: Collection[str] = ()) -> list[Case]:
    """The cases of the file at `path` that have one of `names`, or all; InputError names what is wrong."""
    where = f"file of cases {path!r}"
    cases = read_schema(_CaseFile, read_toml(path, where), where).cases
    known = [case.name for case in cases]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"{where}: two cases have the name {name!r}; give each its own")
    for name in names:
        if name not in known:
            raise unknown_name("case", name, known, where)
    return [case for case in cases if not names or case.name in names]


def measure(case: Case, folder: Path, limit: float) -> Row:
    """A case's figures, as HEADS names them, and its `command`, which is run in `folder`.

    A first call compiles kernels, or, of a case that is kept, makes what is kept; the second counts, unless
    the command is refused. Of a `first` case there is one call, which compiles all that it needs. No proof
    takes longer than `limit` seconds. A process that has not ended after two such proofs and BESIDES is
    killed, and its figures are those until then. `start_seconds` are those of the CPU in which the command
    starts and has no time to prove anything; None where that was not measured.
    """
    words = [*shlex.split(case.command), "--json", "--time-limit"]
    with tempfile.TemporaryDirectory(prefix="dse-bench-") as cache:
        second = [*words, f"{limit:g}", *(("--cache", cache) if case.kept else ("--fresh",))]
        # Compiling, once after an installation, is no proof's time; what is bounded so soon is not checked.
        short = [word for word in words if word != "--verify"] + ["1e-6", "--fresh"]
        start = None
        if case.first:
            run = _run(second, folder, 2 * limit + COMPILING, NUMBA_CACHE_DIR=cache)
        else:
            run = _run(second if case.kept else short, folder, COMPILING)
            start = None if case.kept or run.code is None or COMPILED in run.said else run.cpu_seconds
            if run.code != REFUSED:
                run = _run(second, folder, 2 * limit + BESIDES)
    return {
        "case": case.name,
        "cpu_seconds": run.cpu_seconds,
        "start_seconds": start,
        "wall_seconds": run.wall_seconds,
        "peak_mb": run.peak_mb,
        **_result(run),
        "before": case.before,
        "command": f"dse {case.command}",
    }


@dataclass(frozen=True)
class _Run:
    """What a process left behind: its exit code is None if it was killed."""

    code: int | None
    out: str
    said: str
    cpu_seconds: float
    peak_mb: float
    wall_seconds: float


def _run(words: Sequence[str], folder: Path, seconds: float, **environment: str) -> _Run:
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        start = time.monotonic()
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": paths} | environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
        )
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            # The memory is that of this one process; it counts from what ours held when it was started.
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        wall = time.monotonic() - start
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        unit = 1 if sys.platform == "darwin" else 1024
        return _Run(
            code=None if code < 0 and wall >= seconds else code,
            out=out.read(),
            said=said.read(),
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_mb=usage.ru_maxrss * unit / 1e6,
            wall_seconds=wall,
        )


def _result(run: _Run) -> Row:
    """The `status` in words, and `gap_percent`: None where there is none."""
    if run.code is None:
        return {"status": f"killed after {run.wall_seconds:.0f} s", "gap_percent": None}
    try:
        data = json.loads(run.out)
    except ValueError:
        lines = run.said.strip().splitlines() or [f"its process ended with code {run.code}"]
        return {"status": f"{FAILED}{lines[-1].removeprefix('dse: error: ')}", "gap_percent": None}
    found = data.get("total", data)
    gap = found.get("gap")
    return {
        "status": ", ".join(words_of(data, found, run.said)),
        "gap_percent": None if gap is None else 100 * gap,
    }


def words_of(data: Row, found: Row, said: str) -> Iterator[str]:
    """How a proof ended, those of ties and the checks that it has, and whether kernels are in its figures."""
    yield found.get("status", "ended")
    if data.get("ties"):
        yield f"ties {data['ties']['status']}"
    if "verified" in data:
        yield "verified" if all(check["passed"] for check in data["verified"]) else "not verified"
    if COMPILED in said:
        yield "kernels compiled"


def write(rows: Sequence[Row], limit: float, path: Path) -> None:
    """Write the rows as a Markdown table, with their commands."""
    note = (
        "Each proof is a command in a process of its own, and may take at most "
        f"{limit:g} s. It begins without earlier results, unless its case says that they are kept. "
        'CPU s counts all threads of the process. That includes the column "to start": the CPU time that '
        "the command takes if no time is left to prove anything. Kernels are compiled before the "
        'measurement, unless the status says that kernels were compiled. The column "before" comes '
        "from the file of cases."
    )
    heads = [*HEADS.values(), "command"]
    shown = [[*map(cell, (row[key] for key in HEADS)), row["command"]] for row in rows]
    text = markdown_table(Section("Named proofs", heads, shown, note)).replace("## ", "# ", 1)
    write_whole(path, f"Written by `dse bench proofs`.\n\n{text}")


def cell(value: object) -> str:
    """A figure with one or two digits behind the point, as text."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    return "-" if value is None else str(value)
