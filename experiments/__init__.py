"""Python that makes what is in `results`: the paper's claims, tuning, comparisons.

It imports all packages and none imports it. Each script is run as a module: `python -m experiments.optima`.
"""

from pathlib import Path

RESULTS = Path(__file__).parent.parent / "results"
"""Where campaigns are, and where what they come to is written."""
