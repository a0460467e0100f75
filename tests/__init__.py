"""Tests: a folder for each package, named alike."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
"""The checkout."""
DATA = Path(__file__).parent / "data"
"""What tests compare with."""

# As in a search: test processes fill the machine; threads of BLAS beside them would wait, at full speed.
os.environ.setdefault("OMP_NUM_THREADS", "1")
