# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The interquartile mean of many resamples, compiled: most of the time that a report's intervals take."""

from __future__ import annotations

from dse.support.compiling import kernel


@kernel
def trimmed_means(values, order, counts, cut, out):
    """The mean of each resample without its `cut` lowest and highest: `out`, (resamples,).

    `order` sorts the `values`, (runs,), and `counts`, (resamples, runs), says how often each is drawn. `inf`
    where an infinite value is among those left.
    """
    runs = len(values)
    last = runs - cut
    for resample in range(len(counts)):
        drawn, total = 0, 0.0
        for place in order:
            before = drawn
            drawn += counts[resample, place]
            inside = min(drawn, last) - max(before, cut)
            # An infinite value that is cut off must not come in as 0 times infinity.
            if inside > 0:
                total += inside * values[place]
            if drawn >= last:
                break
        out[resample] = total / (last - cut)
