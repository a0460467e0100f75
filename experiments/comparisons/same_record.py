"""Whether searches draw the same record on other CPUs: `python -m experiments.comparisons.same_record`.

Each search runs in processes whose numerical libraries compute as on another CPU: OpenBLAS with the kernels
of one named by OPENBLAS_CORETYPE, NumPy without the instructions that it found beyond its baseline, glibc
without AVX2, AVX-512 and fused multiply-add. Prints a table of digests of the genes drawn, and ends with 1 if
a searcher that declares itself portable has two. Takes about five CPU minutes as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import dse
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.abilities import abilities_of
from dse.search.searcher import searcher_class
from dse.support.numerics.cpu import other_cpu
from workloads import load_layer

LAYER, ACCELERATOR, SEED = "resnet18:layer3.0.conv2", "eyeriss-small", 3
MACHINES: dict[str, dict[str, str]] = {
    "this CPU": {},
    "BLAS for Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "BLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS for SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "NumPy's baseline": {name: value for name, value in other_cpu().items() if name.startswith("NPY")},
    "glibc without FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX512F"},
}


def digest(searcher: str, budget: int) -> str:
    """Eight characters that tell one drawn record from another."""
    problem = Problem(load_layer(LAYER), PRESETS[ACCELERATOR], "edp", "maestro")
    record = dse.search(problem, searcher, budget=budget, seed=SEED).record
    return hashlib.sha256(record.genes().tobytes()).hexdigest()[:8]


def digest_elsewhere(searcher: str, budget: int, variables: dict[str, str]) -> str:
    """The same from a process with these environment variables."""
    program = f"from {__spec__.name} import digest; print(digest({searcher!r}, {budget}))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else "failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("searchers", nargs="*", default=["team", "marl", "factored-ppo", "bayesian"])
    parser.add_argument("--budget", type=int, default=1000)
    asked = parser.parse_args()
    differ = []
    print(f"| {asked.budget:,} samples | {' | '.join(MACHINES)} |\n|---{'|---' * len(MACHINES)}|")
    for searcher in asked.searchers:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            elsewhere = partial(digest_elsewhere, searcher, asked.budget)
            digests = list(pool.map(elsewhere, MACHINES.values()))
        print(f"| `{searcher}` | {' | '.join(digests)} |", flush=True)
        if abilities_of(searcher_class(searcher)).portable and len(set(digests)) > 1:
            differ.append(searcher)
    if differ:
        print(f"not the same on every CPU, though declared so: {', '.join(differ)}", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
