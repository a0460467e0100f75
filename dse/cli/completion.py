"""What a shell offers for completion. Each function is asked for one word, and imports what it needs then."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, MutableMapping


def answer(app: Callable[..., object]) -> None:
    """Have the application answer the shell that asks, which ends the process.

    bash takes a word with a colon for several, and replaces only what is behind the colon.
    """
    before = _join_at_colons(os.environ) if os.environ.get("_DSE_COMPLETE") == "complete_bash" else ""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            app(prog_name="dse")
    finally:
        sys.stdout.writelines(line.removeprefix(before) for line in text.getvalue().splitlines(keepends=True))


def _join_at_colons(asked: MutableMapping[str, str]) -> str:
    """Put the words that bash asks with together where it broke them; what of the last one stays as it is."""
    words = asked.get("COMP_WORDS", "").split("\n")[: int(asked.get("COMP_CWORD", 0)) + 1]
    joined: list[str] = []
    for place, word in enumerate(words):
        if joined and ":" in (word[:1], words[place - 1][-1:]):
            joined[-1] += word
        elif word == "=" and joined[-1].startswith("--"):
            # As if a space stood between an option and its value.
            joined += [""] * (place == len(words) - 1)
        else:
            joined.append(word)
    asked["COMP_WORDS"], asked["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)
    return joined[-1].removesuffix(words[-1].lstrip(":"))


def complete_layer(incomplete: str) -> list[str]:
    """Networks, and the layers of one that is told from the others."""
    from dse.support.errors import InputError
    from workloads import NETWORKS, layer_specs

    networks = _beginning(incomplete, NETWORKS) or [incomplete.rpartition(":")[0]]
    if len(networks) > 1:
        return [f"{name}:" for name in networks]
    try:
        return _beginning(incomplete, layer_specs(networks[0]))
    except InputError:
        return []


def complete_executor(incomplete: str) -> list[str]:
    """The installed executors."""
    from dse.campaign.executors import executors

    return _beginning(incomplete, executors())


def complete_network(incomplete: str) -> list[str]:
    """The networks that come along."""
    from workloads import NETWORKS

    return _beginning(incomplete, NETWORKS)


def complete_accelerator(incomplete: str) -> list[str]:
    """The presets."""
    from dse.core.domains import domain, domains

    return _beginning(incomplete, [one["name"] for name in domains() for one in domain(name).hardware()])


def complete_searcher(incomplete: str) -> list[str]:
    """The installed searchers."""
    from dse.search.searcher import searchers

    return _beginning(incomplete, searchers())


def complete_objective(incomplete: str) -> list[str]:
    """The objectives, also as the next factor of a product."""
    from dse.core.objective import OBJECTIVES

    last = incomplete.replace(",", "*").rpartition("*")[2].lstrip()
    before = incomplete[: len(incomplete) - len(last)]
    return [before + name for name in _beginning(last, OBJECTIVES)]


def complete_model(incomplete: str) -> list[str]:
    """The installed cost models."""
    from dse.core.cost_models import all_models

    return _beginning(incomplete, all_models())


def complete_format(incomplete: str) -> list[str]:
    """The formats of mappings."""
    from dse.core.domains import domain, domains

    known = dict.fromkeys(kind for one in domains() for kind in domain(one).formats)
    return _beginning(incomplete, known)


def complete_campaign(incomplete: str) -> list[str]:
    """The campaigns that come along; a shell offers files where there are none."""
    from dse.campaign.reading import named_campaigns

    return _beginning(incomplete, named_campaigns())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
