"""MACs of all of ONNX's conformance models with products are those of the arrays that they are run on."""

from __future__ import annotations

from pathlib import Path

from tests.workloads.test_onnx_conformance import judged


def test_macs_of_hundreds_of_conformance_models_are_those_of_their_arrays(tmp_path: Path) -> None:
    read, refused = judged(tmp_path, None)
    assert read >= 200
    assert refused <= read // 4
