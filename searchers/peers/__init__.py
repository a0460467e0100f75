"""Optimisers of other packages as searchers, so that ours stand beside the strongest that there are.

Each is one file that says in what form the problem reaches it. What they share is in `common`: a point that
does not fit gets a penalty by how far it does not, and what a search has begun with is told like their own.
Their libraries are optional extras of this package, one of the same name each.
"""

from __future__ import annotations

PEERS: dict[str, str] = {
    "tpe": "searchers.peers.tpe:TPE",
    "optuna-gp": "searchers.peers.optuna_gp:OptunaGP",
    "optunahub": "searchers.peers.optunahub:OptunaHub",
    "catcma": "searchers.peers.catcma:CatCMA",
    "nevergrad": "searchers.peers.nevergrad:Nevergrad",
    "pymoo": "searchers.peers.pymoo:Pymoo",
    "smac": "searchers.peers.smac:SMAC",
    "botorch": "searchers.peers.botorch:BoTorch",
}
"""Each peer's name, and where its class is."""
