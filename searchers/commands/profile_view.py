"""What `dse profile` shows: a table of phases, what is compared, and the same as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from dse.cli import output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from learners.profiling import Profile


def as_data(learner: str, env: str, clock: str, profiles: Sequence[Profile]) -> dict[str, Any]:
    """The profiles as plain data; seconds are those of an update with the steps that come before it."""
    return {
        "learner": learner,
        "env": env,
        "clock": clock,
        "updates": len(profiles[0].seconds),
        "profiles": [_one(profile) for profile in profiles],
        "compared": _compared(profiles),
    }


def _one(profile: Profile) -> dict[str, Any]:
    from learners.profiling import PHASES, UPDATING

    return {
        "agents": profile.agents,
        "arm": profile.arm,
        "seconds": {phase: float(profile.of(phase).mean()) for phase in PHASES},
        "whole": float(profile.of().mean()),
        "update_share": profile.share(*UPDATING),
        "of_update": {phase: profile.share(phase, within=UPDATING) for phase in UPDATING},
        "hook_share": profile.hook,
        "misses": profile.misses if isinstance(profile.misses, str) else dict(profile.misses),
    }


def _compared(profiles: Sequence[Profile]) -> list[dict[str, Any]]:
    """Each arm beside the first one of as many agents: what sampling, the update and the whole take of it."""
    from learners.phases import SAMPLING
    from learners.profiling import UPDATING, ratio_of_means

    rows = []
    for profile in profiles:
        first = next(other for other in profiles if other.agents == profile.agents)
        if first is profile:
            continue
        for what, phases in (("sampling", (SAMPLING,)), ("update", UPDATING), ("whole", ())):
            if first.of(*phases).sum() > 0:
                share, low, high = ratio_of_means(profile.of(*phases), first.of(*phases))
                pair = {"agents": profile.agents, "arm": profile.arm, "than": first.arm, "time": what}
                known = {"low": low, "high": high} if isfinite(low) else {"low": None, "high": None}
                rows.append(pair | {"ratio": share, **known})
    return rows


def print_tables(data: Mapping[str, Any], out: object) -> None:
    """Print where the time goes, by phase, and how the arms compare; `out` is the folder that was written."""
    console = output.make_console()
    title = (
        f"{data['learner']} on {data['env']}: ms of an update with its steps, by the {data['clock']} clock"
    )
    phases = list(data["profiles"][0]["seconds"])
    rows = [
        (
            row["arm"],
            row["agents"],
            *(_ms(row["seconds"][phase]) for phase in phases),
            _ms(row["whole"]),
            100 * row["update_share"],
        )
        for row in data["profiles"]
    ]
    output.print_table(
        console,
        title,
        (
            "arm",
            "agents",
            *(
                phase.replace("action selection", "actions").replace("rest of the update", "rest")
                for phase in phases
            ),
            "whole",
            "update, %",
        ),
        rows,
    )
    if data["compared"]:
        over = f"paired over {data['updates']} updates, 95 % confidence intervals"
        title = f"time over that of the first arm, {over}"
        pairs = [
            (
                row["arm"],
                row["agents"],
                row["time"],
                f"{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
                if row["low"] is not None
                else f"{row['ratio']:.3f}",
            )
            for row in data["compared"]
        ]
        output.print_table(console, title, ("arm", "agents", "time", "ratio"), pairs)
    _show_misses(data["profiles"], console)
    most = max(row["hook_share"] for row in data["profiles"])
    console.print(f"measuring takes {most:.3%} of the time at most")
    if out is not None:
        console.print(f"written to {out}")


def _show_misses(profiles: Sequence[Mapping[str, Any]], console: Any) -> None:
    misses = profiles[0]["misses"]
    if isinstance(misses, str):
        console.print(f"cache and dTLB misses are not counted: {misses}")
        return
    rows = [
        (row["arm"], row["agents"], *(float(count) for count in row["misses"].values())) for row in profiles
    ]
    output.print_table(console, "misses an update", ("arm", "agents", *misses), rows)


def _ms(seconds: float) -> float:
    return seconds * 1e3


def plot_phases(data: Mapping[str, Any]) -> Figure:
    """Milliseconds of an update, phases stacked: a panel for each size of the team, a bar for each arm."""
    from searchers.commands.phases_plot import phases_figure

    panels: dict[str, dict[str, list[float]]] = {}
    for row in data["profiles"]:
        agents = f"{row['agents']} agents"
        panels.setdefault(agents, {})[row["arm"]] = [_ms(taken) for taken in row["seconds"].values()]
    how = f"means of {data['updates']} updates, each with the steps before it; {data['clock']} clock"
    title = f"Where the time of {data['learner']} goes, on {data['env']}"
    return phases_figure(title, how, list(data["profiles"][0]["seconds"]), panels)
