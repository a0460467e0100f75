"""Why a point is not feasible: the codes that cost models and feasibility rules write into arrays."""

from __future__ import annotations

from enum import IntEnum

FIRST_RULE = 32
"""Codes below it come from a cost model, the others from the rules of feasibility."""


class Reason(IntEnum):
    """0 is feasible; codes below 32 come from a cost model, the others from the feasibility rules."""

    FEASIBLE = 0
    ZERO_TILE = 1
    PARTIAL_FILTER = 2
    CLUSTER_TOO_LARGE = 3
    NO_WORK = 4
    ZERO_FETCH = 5
    TOO_MANY_STEPS = 6
    ZERO_RUNTIME = 7
    BAD_HARDWARE = 8
    BAD_LAYER = 9
    OUT_OF_RANGE = 10
    SPREAD_FILTER = 11
    DILATED = 12
    REFUSED = 13
    CRASHED = 14
    TIMED_OUT = 15
    GARBLED = 16
    UNEVEN_TILE = 17
    WRONG_FACTORS = 18
    WRONG_ORDER = 19
    WRONG_KEEP = 20
    WRONG_SPREAD = 21
    TOO_WIDE = 22
    L1_TOO_SMALL = 32
    L2_TOO_SMALL = 33
    WORK_DROPPED = 34
    BELOW_COMPUTE_FLOOR = 35
    BELOW_SERIAL_FLOOR = 36
    LEVEL_TOO_SMALL = 37
    TOO_NARROW = 38
    AREA_TOO_LARGE = 39
    OVER_CAP = 40
    BEYOND_LIMIT = 41

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXT[self]

    @property
    def label(self) -> str:
        """Its name as reports have it: `below serial floor`."""
        return self.name.lower().replace("_", " ")

    @property
    def meaning(self) -> str:
        """What it says of the mapping or of the model, where the words alone leave that open."""
        return _MEANING.get(self, self.text)


_TEXT = {
    Reason.FEASIBLE: "feasible",
    Reason.ZERO_TILE: "a tile size is zero or negative",
    Reason.PARTIAL_FILTER: "a filter dim (R or S) is neither parallel nor whole",
    Reason.CLUSTER_TOO_LARGE: "the cluster size is not between 1 and the PE count",
    Reason.NO_WORK: "the inner level does no work while the outer one does",
    Reason.ZERO_FETCH: "the inner level iterates over a dim whose tile moves by nothing",
    Reason.TOO_MANY_STEPS: "the number of steps overflows 32 bits",
    Reason.ZERO_RUNTIME: "every step is skipped: the run time is zero",
    Reason.BAD_HARDWARE: "a hardware figure is out of range",
    Reason.BAD_LAYER: "a layer size is out of range",
    Reason.OUT_OF_RANGE: "a count does not fit in 64 bits",
    Reason.SPREAD_FILTER: "a filter dim (R or S) is parallel, which this cost model does not price",
    Reason.DILATED: "the filter is dilated, which this cost model does not price",
    Reason.REFUSED: "the cost model refuses the mapping",
    Reason.CRASHED: "what prices for the cost model crashed",
    Reason.TIMED_OUT: "what prices for the cost model took too long",
    Reason.GARBLED: "what prices for the cost model gave no figures that can be used",
    Reason.UNEVEN_TILE: "a tile does not divide what it cuts, which this cost model does not price",
    Reason.WRONG_FACTORS: "the factors of a dim do not multiply to its size",
    Reason.WRONG_ORDER: "an order of loops does not name each dim once",
    Reason.WRONG_KEEP: "a level keeps what it may not, or bypasses what it has to keep",
    Reason.WRONG_SPREAD: "a dim is spread where it may not be",
    Reason.TOO_WIDE: "a level spreads over more instances than are below it",
    Reason.L1_TOO_SMALL: "L1 is too small",
    Reason.L2_TOO_SMALL: "L2 is too small",
    Reason.WORK_DROPPED: "fewer MACs than the layer has",
    Reason.BELOW_COMPUTE_FLOOR: "fewer cycles than the MACs need on all PEs",
    Reason.BELOW_SERIAL_FLOOR: "fewer cycles than the busiest PE has steps",
    Reason.AREA_TOO_LARGE: "what the mapping needs is larger than the area budget",
    Reason.OVER_CAP: "a figure is above the objective's cap",
    Reason.BEYOND_LIMIT: "a limit of yours on the use of buffers or PEs is broken",
    Reason.LEVEL_TOO_SMALL: "a level is too small",
    Reason.TOO_NARROW: "a level spreads over fewer instances than are asked for",
}

_MEANING = {
    Reason.REFUSED: "the model says that it cannot price the mapping; its own words are behind it",
    Reason.CRASHED: "the function raised, or the program died; what it said is behind it",
    Reason.TIMED_OUT: "the program gave no answer within its `timeout`",
    Reason.GARBLED: "the answer has no figures, or figures that are not finite or not above 0",
    Reason.L1_TOO_SMALL: "a PE keeps more than its L1 holds, so inner tiles have to be smaller",
    Reason.L2_TOO_SMALL: "all clusters together keep more than L2 holds, so outer tiles have to be smaller",
    Reason.WORK_DROPPED: "the model counts fewer MACs than the layer has: work is left out where tiles end",
    Reason.BELOW_COMPUTE_FLOOR: "fewer cycles than MACs / (PEs x lanes), which no mapping can have on this "
    "machine: the model is to be doubted, and not the mapping",
    Reason.BELOW_SERIAL_FLOOR: "fewer cycles than the busiest PE has steps, one a cycle, however many "
    "others idle: the model is to be doubted, and not the mapping",
    Reason.AREA_TOO_LARGE: "the PEs and buffers that the mapping needs exceed --budget-area",
    Reason.BEYOND_LIMIT: "--limit leaves less of a buffer than the mapping needs, or asks for more busy PEs",
    Reason.LEVEL_TOO_SMALL: "what a level of the machine keeps exceeds its capacity",
    Reason.TOO_NARROW: "--fix asks for more instances at work than the mapping uses",
}
