"""A report's result for programs: small plain data, beside the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dse.analysis.findings import Findings
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study
from dse.report.conclusions import Conclusions
from dse.report.tables.repriced import repriced_finding, repriced_notes
from dse.support.strict_json import plain

SUMMARY = "summary.json"


def study_summary(
    study: Study, findings: Findings, conclusions: Conclusions, repriced: Sequence[Repriced]
) -> dict[str, Any]:
    """The result as plain data; what JSON cannot say (infinities, NaN) is None."""
    targets = {study.label(problem): study.target(problem) for problem in study.problems}
    found = {
        "campaign": study.name,
        "budget": study.budget,
        "cost_model": study.cost_model,
        "seeds": study.seeds,
        "searchers": list(study.searchers),
        "reference": study.reference,
        "cells": len(study.summaries),
        "planned": study.planned,
        "missing": study.missing,
        "headline": conclusions.headline,
        "sentences": [asdict(sentence) for sentence in conclusions.sentences],
        "warnings": list(conclusions.warnings),
        "limits": {
            name: {"seeds": study.seeds_of(name), "budget": study.budget_of(name)}
            for name in study.searchers
            if name in study.cut or study.seeds_of(name) < study.seeds
        },
        "standing": {
            name: band.end._asdict() for name, band in findings.gap.items() if name not in study.cut
        },
        "targets": {label: {"loss": loss, "proven": proven} for label, (loss, proven) in targets.items()},
        "repriced": [_repriced(found) for found in repriced],
    }
    return {name: plain(value) for name, value in found.items()}


def study_regrets(findings: Findings) -> list[dict[str, Any]]:
    """Losses over the proven bound, problem by problem: 1 is perfect, None is nothing feasible."""
    return [
        {
            **dict(zip(("layer", "accelerator", "objective"), row.problem, strict=True)),
            "budget": row.budget,
            "searcher": row.searcher,
            "optimum": row.bound,
            "proven": row.proven,
            "ratio_median": row.median / row.bound,
            "ratio_best": row.best / row.bound,
            "seeds": row.seeds,
        }
        for row in findings.layers
        if row.bound > 0
    ]


def _repriced(repriced: Repriced) -> dict[str, Any]:
    return {
        "cost_model": repriced.other,
        "finding": repriced_finding(repriced),
        "winners": repriced.winners,
        "infeasible": dict(repriced.infeasible),
        "rankings": [asdict(ranking) for ranking in repriced.rankings],
        "notes": repriced_notes(repriced),
    }
