"""Problems under `loopnest` that are small enough to price every mapping of."""

from __future__ import annotations

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from tests.optimum.certify_cases import Case

MODEL = "loopnest"

SMALL = (
    # Strides, paddings and halos, odd bandwidths, buffers that bind, clusters and PEs that stand idle.
    Case(
        "padded",
        Layer("CONV", 2, 2, 4, 3, 3, 3, padding=(1, 1)),
        Accelerator(3, 100, 150, 3, 1),
        {"outer.parallel": "Y", "inner.order": "XKYC"},
        MODEL,
    ),
    Case(
        "strided",
        Layer("CONV", 3, 1, 9, 5, 3, 2, stride=(2, 1), padding=(1, 0)),
        Accelerator(2, 60, 110, 4, 1),
        {"outer.parallel": "X", "inner.order": "KYXC"},
        MODEL,
    ),
    Case(
        "pointwise",
        Layer("CONV", 4, 4, 1, 2, 1, 1),
        Accelerator(5, 16, 40, 2, 1, 1, 1),
        {"inner.parallel": "K", "outer.order": "XCYK"},
        MODEL,
    ),
    Case(
        "depthwise",
        Layer("DSCONV", 1, 4, 5, 3, 3, 3),
        Accelerator(3, 60, 120, 3, 1, 2),
        {"outer.parallel": "C"},
        MODEL,
    ),
    Case(
        "product",
        Layer.gemm(4, 2, 2),
        Accelerator(4, 12, 28, 3, 2, 0, 2),
        {"outer.order": "CYKX"},
        MODEL,
    ),
    Case(
        "slow-noc",
        Layer("CONV", 3, 4, 2, 1, 1, 1),
        Accelerator(6, 16, 40, 1, 3, 3, 1),
        {"inner.order": "YCKX", "outer.parallel": "C"},
        MODEL,
    ),
    Case(
        "wide-filter",
        Layer("CONV", 1, 1, 10, 1, 5, 1),
        Accelerator(4, 40, 60, 5, 2, 1, 2),
        {"outer.order": "YXKC"},
        MODEL,
    ),
    Case(
        "skipped-rows",
        Layer("CONV", 2, 1, 16, 1, 1, 1, stride=(3, 1)),
        Accelerator(6, 10, 24, 2, 1),
        {"inner.parallel": "Y", "outer.order": "XYKC"},
        MODEL,
    ),
    Case(
        "dilated",
        Layer("CONV", 2, 1, 12, 3, 3, 2, stride=(2, 1), padding=(2, 1), dilation=(3, 2)),
        Accelerator(4, 100, 250, 3, 1),
        {"inner.parallel": "K", "outer.order": "CXYK"},
        MODEL,
    ),
    Case(
        "nothing-fits",
        Layer("CONV", 2, 2, 6, 5, 5, 5),
        Accelerator(2, 40, 4000, 4, 2),
        {"outer.order": "KCYX"},
        MODEL,
    ),
)

LARGE = (
    Case(
        "padded", Layer("CONV", 2, 2, 4, 3, 3, 3, padding=(1, 1)), Accelerator(3, 100, 150, 3, 1), {}, MODEL
    ),
    Case("pointwise", Layer("CONV", 4, 4, 1, 4, 1, 1), Accelerator(6, 16, 40, 2, 1, 1, 1), {}, MODEL),
    Case("depthwise", Layer("DSCONV", 1, 6, 6, 5, 3, 3), Accelerator(6, 60, 160, 3, 1, 2), {}, MODEL),
    Case("product", Layer.gemm(6, 4, 4), Accelerator(8, 16, 60, 3, 2, 0, 2), {}, MODEL),
    Case("slow-noc", Layer("CONV", 3, 4, 4, 1, 2, 1), Accelerator(12, 24, 60, 1, 3, 3, 1), {}, MODEL),
    Case("two-lanes", Layer("CONV", 2, 2, 8, 4, 2, 2), Accelerator(4, 64, 200, 5, 2, 1, 2), {}, MODEL),
    Case(
        "strided",
        Layer("CONV", 3, 1, 9, 5, 3, 2, stride=(2, 1), padding=(1, 0)),
        Accelerator(2, 60, 110, 4, 1),
        {"outer.parallel": "X"},
        MODEL,
    ),
    Case("wide-filter", Layer("CONV", 1, 1, 10, 1, 5, 1), Accelerator(4, 40, 60, 5, 2, 1, 2), {}, MODEL),
    Case(
        "skipped-rows",
        Layer("CONV", 2, 1, 16, 1, 1, 1, stride=(3, 1)),
        Accelerator(6, 10, 24, 2, 1),
        {"inner.parallel": "Y"},
        MODEL,
    ),
    Case(
        "dilated",
        Layer("CONV", 2, 1, 12, 3, 3, 2, stride=(2, 1), padding=(2, 1), dilation=(3, 2)),
        Accelerator(4, 100, 250, 3, 1),
        {"inner.parallel": "K"},
        MODEL,
    ),
)
