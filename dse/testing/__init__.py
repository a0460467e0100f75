"""The contract suites: what every searcher and cost model must do, for ours and for plug-ins alike.

In the tests of a package that offers a searcher:

    from dse.testing import broken, check_searcher

    def test_my_searcher_keeps_the_contract():
        assert not broken(check_searcher(MySearcher()))

and likewise `check_cost_model(MyModel())`. `dse check SEARCHER` and `dse check-cost-model MODEL` print the
same verdicts.
"""

from __future__ import annotations

from dse.testing.cost_models import COST_MODEL_RULES, check_cost_model, check_cost_model_rules
from dse.testing.suite import RULES, Rule, check_rules, check_searcher
from dse.testing.verdict import ContractRule, Verdict, broken

__all__ = [
    "COST_MODEL_RULES",
    "RULES",
    "ContractRule",
    "Rule",
    "Verdict",
    "broken",
    "check_cost_model",
    "check_cost_model_rules",
    "check_rules",
    "check_searcher",
]
