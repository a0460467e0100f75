"""Points drawn at random, which IOHexperimenter's logger follows, on each problem of suite `short`."""

import ioh

import dse
from searchers.adapters.ioh import problem_of

for problem in dse.suite("short"):
    with problem.ask_tell(budget=100, searcher="ioh-mine", out="runs") as study:
        function = problem_of(study)
        logger = ioh.logger.Analyzer(root="ioh", algorithm_name="random")
        function.attach_logger(logger)  # which it does not keep alive
        while study.remaining:
            function(study.ask()[0])
