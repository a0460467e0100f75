"""Ax (Olson et al., 2025): a run as parameters of its client, and the loop that serves its trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from searchers.adapters.common import Values, import_library

if TYPE_CHECKING:
    from dse.search.session import Session

LOSS = "loss"


def client_of(study: Session, seed: int | None = None) -> Any:
    """A client whose experiment has the run's genes and minimises `loss`."""
    api, values = import_library("ax.api.client"), Values(study)
    kinds = import_library("ax.api.configs")
    parameters = [
        kinds.RangeParameterConfig(name=_name(name), bounds=(0, most), parameter_type="int")
        for name, most in values.ranges().items()
    ]
    parameters += [
        kinds.ChoiceParameterConfig(name=_name(name), values=every, parameter_type="int", is_ordered=False)
        for name, every in values.choices().items()
        if len(every) > 1
    ]
    client = api.Client(random_seed=seed)
    client.configure_experiment(parameters=parameters, name="mappings")
    client.configure_optimization(objective=f"-{LOSS}")
    return client


def serve_trials(client: Any, study: Session, at_once: int = 1) -> None:
    """Ask the client for trials and complete them, until the run's samples are spent."""
    values = Values(study)
    while study.remaining:
        trials = client.get_next_trials(max_trials=min(at_once, study.remaining))
        points = [{name: point.get(_name(name), 0) for name in values.names} for point in trials.values()]
        for index, value in zip(trials, values.of(points).tolist(), strict=True):
            client.complete_trial(trial_index=index, raw_data={LOSS: value})


def _name(gene: str) -> str:
    """The gene's name without what Ax reads as an operator."""
    return gene.replace(".", "_")
