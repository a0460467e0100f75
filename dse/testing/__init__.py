"""The contract suite: what every searcher must do and must not, for ours and for plug-ins alike.

In the tests of a package that offers a searcher:

    from dse.testing import broken, check_searcher

    def test_my_searcher_keeps_the_contract():
        assert not broken(check_searcher(MySearcher()))

`dse check NAME` prints the same verdicts.
"""

from __future__ import annotations

from dse.testing.suite import RULES, Rule, broken, check_rules, check_searcher
from dse.testing.verdict import Verdict

__all__ = ["RULES", "Rule", "Verdict", "broken", "check_rules", "check_searcher"]
