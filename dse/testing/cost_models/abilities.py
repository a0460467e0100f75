"""The rules on what a cost model declares: what it says it can do, it can."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np

from dse.core.domains import prover_of
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.model_settings import ModelConstants
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cases import Cases, parse_cases
from dse.domains.clustered.check.intervals import bounds_check
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.figures import BANDWIDTHS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of
from dse.domains.clustered.proof.intervals import IntervalBoxes
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError, format_exception
from dse.testing.cost_models.candidate import STRIDED, ModelCandidate, Setting, difference
from dse.testing.verdict import Broken

SILENT = "it does not say so"
EXPLAINED = 20
"""Mappings a setting whose detail is looked at."""
SMALL = Layer("CONV", 8, 4, 6, 6, 3, 3)
PRIMES = Layer("CONV", 5, 3, 7, 5, 3, 3)
FIXED = {"outer.order": "KCYX", "inner.order": "XYCK"}
SAMPLES = 5000
CLOSE = 1e-9
"""Relative: sums of parts are rounded."""


def strides(candidate: ModelCandidate) -> str:
    """A strided and padded layer, handed over as it is, has exactly its MACs in ordinary mappings."""
    if not candidate.model.prices_strides:
        return f"{SILENT}: a Problem hands it lowered layers"
    setting = next(setting for setting in candidate.settings if setting.layer is STRIDED)
    costs = candidate.price(setting, setting.ordinary)
    if not (costs.macs[costs.valid] == STRIDED.macs).any():
        raise Broken(
            f"expected {STRIDED.macs} MACs of {STRIDED} in some mapping, got {costs.macs[costs.valid][:3]}"
        )
    lowered = candidate.model.evaluate(STRIDED.lowered(), setting.accelerator, setting.ordinary)
    if difference(costs, lowered) is None:
        raise Broken(f"expected {STRIDED} to cost otherwise than its lowered layer, all figures are the same")
    return f"{len(costs)} mappings of {STRIDED}"


def cases(candidate: ModelCandidate) -> str:
    """A mapping costs the same as a case; layers and machines that cannot be are refused, not raised."""
    model = candidate.model
    if not model.prices_cases:
        return SILENT
    for setting in candidate.settings:
        problem = Problem(setting.layer, setting.accelerator, "edp", model)
        mappings = [setting.ordinary[index] for index in range(min(EXPLAINED, len(setting.ordinary)))]
        lines = enumerate((json.dumps(problem.case(mapping)) for mapping in mappings), 1)
        given = parse_cases(lines, setting.name)
        seen = difference(candidate.price(setting, MappingBatch.of(mappings)), _priced(candidate, given))
        if seen:
            raise Broken(f"expected cases of {setting.name} to cost what the mappings cost; {seen}")
        for number in (0, -1, 2**62):
            odd = replace(given, layers=given.layers.copy(), hardware=given.hardware.copy())
            for row in range(len(given)):
                columns = odd.layers if row % 2 else odd.hardware
                columns[row, 1 + row // 2 % (columns.shape[1] - 1)] = number
            _priced(candidate, odd)
    return f"{EXPLAINED * len(candidate.settings)} cases, and as many odd layers and machines"


def _priced(candidate: ModelCandidate, given: Cases) -> CostBatch:
    try:
        return candidate.model.price_cases(given.layers, given.hardware, given.mappings.rows, given.extras)
    except Exception as error:
        raise Broken(f"expected prices of cases; it raised {format_exception(error)}") from error


def detail(candidate: ModelCandidate) -> str:
    """Cycles and energies by name add up to the figures, buffers to what the mapping needs."""
    explained = 0
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        few = min(EXPLAINED, len(costs) // 2)
        for row in (*range(few), *range(len(costs) - few, len(costs))):
            explained += _check_detail(candidate, setting, costs, row)
    return f"{explained} mappings explained" if candidate.model.explains else SILENT


def _check_detail(candidate: ModelCandidate, setting: Setting, costs: CostBatch, row: int) -> bool:
    found = candidate.model.detail(candidate.layer(setting), setting.accelerator, setting.all[row])
    where = f"mapping {row} of {setting.name}"
    if found is None or not found.cycles:
        if candidate.model.explains and costs.valid[row]:
            raise Broken(f"expected a Detail of {where}, which it accepts, got {found}")
        return False
    if not (candidate.model.explains and costs.valid[row]):
        raise Broken(f"expected no cycles of {where}, which it does not say that it explains, got a Detail")
    for name, parts, figure in (
        ("cycles", sum(found.cycles.values()), costs.cycles[row]),
        ("energy_nj", sum(found.energy_nj.values()), costs.energy_nj[row]),
        ("l1_size", sum(found.buffers["L1"].values()), costs.l1_size[row]),
        ("l2_size", sum(found.buffers["L2"].values()), costs.l2_size[row]),
    ):
        if not np.isclose(parts, figure, rtol=CLOSE, atol=0):
            raise Broken(f"expected parts of {name} that add up to {figure} for {where}, they make {parts}")
    return True


def constants(candidate: ModelCandidate) -> str:
    """Each constant can be replaced, is in the spec then, and some figure depends on it."""
    model = candidate.model
    kind = model.settings_type
    if kind is None or not issubclass(kind, ModelConstants):
        return SILENT
    names = [item.name for item in fields(kind)]
    plain = kind()
    for name in names:
        replaced = replace(plain, **{name: 2 * getattr(plain, name)})
        other: CostModel = type(model)(replaced)  # type: ignore[call-arg]
        inside = other.spec.removeprefix(f"{model.name}(").removesuffix(")")
        if other.spec == model.spec or kind.parse(inside, "spec") != replaced:
            raise Broken(f"expected a spec that names {name}={getattr(replaced, name)!r}, got {other.spec!r}")
        setting = candidate.settings[0]
        changed = other.evaluate(candidate.layer(setting), setting.accelerator, setting.all)
        if difference(candidate.costs[0], changed) is None:
            raise Broken(f"expected some figure to depend on {name}; doubled, it changes none")
    return ", ".join(names)


def rates(candidate: ModelCandidate) -> str:
    """Twice a bandwidth that it declares makes no mapping slower, and changes neither energy nor buffers."""
    if wrong := set(candidate.model.rates) - set(BANDWIDTHS):
        raise Broken(f"expected rates among {' and '.join(BANDWIDTHS)}, got {', '.join(sorted(wrong))}")
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        for name in candidate.model.rates:
            wider = replace(setting.accelerator, **{name: 2 * getattr(setting.accelerator, name)})
            found = candidate.price(replace(setting, accelerator=wider), setting.all)
            worse = np.flatnonzero(found.cycles > costs.cycles)
            if len(worse):
                figures = f"{costs.cycles[worse[0]]}, and then {found.cycles[worse[0]]}"
                raise Broken(f"expected no more cycles with twice the {name}; {setting.name} takes {figures}")
            same = ("energy_nj", "l1_size", "l2_size", "valid")
            changed = [one for one in same if (getattr(found, one) != getattr(costs, one)).any()]
            if changed:
                raise Broken(f"expected {changed[0]} not to depend on {name}, of {setting.name} it does")
    return ", ".join(candidate.model.rates) or SILENT


def bounds(candidate: ModelCandidate) -> str:
    """Bounds of boxes of tiles, and of their parts, are not above the prices of mappings in them."""
    if not candidate.model.proof_module:
        return SILENT
    checked = 0
    for setting in candidate.settings:
        problem = Problem(setting.layer, setting.accelerator, "edp", candidate.model, tiles="any")
        try:
            boxes = getattr(certifier_of(problem), "make_boxes", lambda problem: None)(problem)
            if not isinstance(boxes, IntervalBoxes):
                return "its proofs have bounds of their own"
            rng = np.random.default_rng(0)
            found = bounds_check(problem, rng, boxes.lower_bound, candidate.mappings)
        except InputError as error:
            raise Broken(f"expected bounds of {setting.name}; {error}") from error
        if not found.passed:
            raise Broken(f"expected that {found.name}, of {setting.name}; got {found.seen}")
        checked += 3 * candidate.mappings
    return f"{checked:,} boxes around random mappings"


def proofs(candidate: ModelCandidate) -> str:
    """The optimum of a small layer is certified, costs what the certificate says, and is not beaten."""
    if not candidate.model.proof_module:
        return SILENT
    return _proven(Problem(SMALL, PRESETS["edge"], "edp", candidate.model))


def proofs_of_any_tiles(candidate: ModelCandidate) -> str:
    """The same over tiles of any size, of a layer whose sizes are primes."""
    if not candidate.model.proof_module:
        return SILENT
    problem = Problem(PRIMES, PRESETS["edge"], "edp", candidate.model, tiles="any", fixed=FIXED)
    try:
        prover_of(problem).refuse()
    except InputError:
        return "its proofs are over perfect factors"
    return _proven(problem)


def _proven(problem: Problem) -> str:
    """What was proven; Broken if no optimum is, or if a check of it fails."""
    try:
        found = certify(problem, cache=False)
    except InputError as error:
        raise Broken(f"expected an optimum to be certified; {error}") from error
    if found.best is None:
        raise Broken(f"expected an optimum of {problem.layer}, none is found")
    failed = failed_checks(verify(problem, found))
    if failed:
        raise Broken(f"expected an optimum that every check agrees with; {failed[0]}")
    losses = problem.price(problem.space.sample(np.random.default_rng(0), SAMPLES)).loss
    if losses.min() < found.best.loss:
        raise Broken(f"expected nothing below the optimum of {found.best.loss:.6g}, found {losses.min():.6g}")
    return f"the optimum of {problem.layer}, beside {SAMPLES:,} random points"
