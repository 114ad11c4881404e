"""Two runs compared by their pairs: the test, the interval of the difference, and what the data could have shown.

The unit is a case or, with clusters, a cluster's summed difference. One test does everything: the signs of the units
are flipped at random, as they would fall if the two sides did not differ. For passes and failures it is the exact
binomial (McNemar) test; for up to 20 units that are not zero all flips are counted; beyond, 9,999 seeded ones
(P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005; B. Phipson and G. Smyth, 2010, for
p = (b + 1) / (m + 1)). The interval holds the shifts of the units that the same test does not reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ALPHA = 0.05
EXACT_UNITS = 20
FLIPS = 9_999
SEED = 20_240_411
POWER_FACTOR = 2.80  # z(0.975) + z(0.80): a two-sided test at 5 % that finds the difference in 80 % of experiments
_MANY_ALIKE = 64  # so many equal units are flipped by one binomial draw


@dataclass(frozen=True)
class PairedTest:
    """What the pairs say about the mean difference, candidate minus baseline.

    `n` pairs (cases) in `units` (cases or clusters), of which `nonzero` differ; `method` names the test.
    `smallest_detectable` is the smallest difference that such data show with a power of 80 %. Without pairs all
    numbers are NaN.
    """

    n: int
    units: int
    nonzero: int
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    smallest_detectable: float
    method: str


def paired_test(
    baseline: ArrayLike, candidate: ArrayLike, *, clusters: Sequence[Any] | NDArray[Any] | None = None
) -> PairedTest:
    """The test of the mean difference over pairs of cases, each side the mean of the case's scored trials (0 to 1).

    `clusters` names each pair's cluster; pairs without one (None, NaN) stand for themselves. The order of the pairs
    makes no difference, and exchanging the sides changes nothing but signs.

    Raises ValueError where the sides differ in length or a value is missing or outside 0 to 1.
    """
    import numpy as np

    before, after = _values("baseline", baseline), _values("candidate", candidate)
    if len(before) != len(after):
        raise ValueError(f"baseline and candidate must be pairs, got {len(before)} and {len(after)} values")
    n = len(before)
    if n == 0:
        nan = math.nan
        return PairedTest(0, 0, 0, nan, nan, nan, nan, nan, "no pairs")
    change, sizes = _units(np.round(after - before, 12), clusters)
    turned = _turned(change, sizes)  # so that both orders of two runs draw the same flips
    if turned:
        change = -change
    mean = float(change.sum() / n)
    flips = _flips(change, sizes)
    p_value, method = _p_value(change, flips, clustered=bool((sizes != 1).any()))
    low, high = _interval(flips, change.sum(), n, p_value)
    if turned:
        mean, low, high = -mean, -high, -low
    detectable = _detectable(change, sizes)
    return PairedTest(n, len(change), int(np.count_nonzero(change)), mean, low, high, p_value, detectable, method)


def mcnemar(improved: int, regressed: int) -> float:
    """The two-sided p value of the exact binomial test of McNemar: are both directions equally likely?"""
    if improved + regressed == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(improved, improved + regressed, 0.5).pvalue)


def cases_needed(test: PairedTest, difference: float) -> int | None:
    """How many cases like these it takes to find `difference` with a power of 80 %; None without pairs.

    Raises ValueError for a difference that is not above 0.
    """
    if not difference > 0:
        raise ValueError(f"difference must be above 0, got {difference!r}")
    if test.n == 0:
        return None
    return math.ceil(test.n * (test.smallest_detectable / difference) ** 2 - 1e-9)


def _values(name: str, given: ArrayLike) -> Floats:
    import numpy as np

    values = np.asarray(given, dtype="float64").ravel()
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{name} must hold a number from 0 to 1 for each pair; leave out cases without a scored trial")
    return values


def _units(differences: Floats, clusters: Sequence[Any] | NDArray[Any] | None) -> tuple[Floats, Floats]:
    """Each unit's summed difference and its number of cases, in an order that the values alone decide."""
    import numpy as np

    change, sizes = differences, np.ones(len(differences))
    if clusters is not None:
        import pandas as pd

        if len(clusters) != len(differences):
            raise ValueError(f"clusters must name one cluster per pair, got {len(clusters)} for {len(differences)}")
        codes, names = pd.factorize(np.asarray(clusters, dtype=object))
        alone = codes < 0
        codes[alone] = len(names) + np.arange(int(alone.sum()))
        change = np.round(np.bincount(codes, weights=differences), 12)
        sizes = np.bincount(codes).astype("float64")
    order = np.lexsort((sizes, change))
    return change[order] + 0.0, sizes[order]


class _Flips(NamedTuple):
    """The units' summed differences and sizes under choices of signs: all choices (half of them, the other half being
    their mirror image) or random ones.
    """

    change: Floats
    sizes: Floats
    exact: bool


def _p_value(change: Floats, flips: _Flips, *, clustered: bool) -> tuple[float, str]:
    import numpy as np

    moved = change[change != 0]
    if not clustered and np.isin(moved, (-1.0, 1.0)).all():
        return mcnemar(int((moved > 0).sum()), int((moved < 0).sum())), "exact binomial (McNemar)"
    reached = abs(moved.sum()) - 1e-9
    if len(moved) <= EXACT_UNITS:
        return float((np.abs(_all_sums(moved)) >= reached).mean()), "exact sign flips"
    return float(((np.abs(flips.change) >= reached).sum() + 1) / (FLIPS + 1)), f"{FLIPS:,} seeded sign flips"


def _interval(flips: _Flips, total: float, n: int, p_value: float) -> tuple[float, float]:
    """The shifts that are not rejected, and the promises: at least 3/n to each side, and of one mind with p."""
    import numpy as np

    mean, margin = float(total) / n, 3 / n
    lows, highs, rank = _shifts(flips, total, n)
    low, high = float(np.partition(lows, rank)[rank]), float(-np.partition(-highs, rank)[rank])
    if p_value >= ALPHA:
        low, high = min(low, mean - margin, 0.0), max(high, mean + margin, 0.0)
    elif mean > 0:
        low, high = _clear_of_0(low, mean - margin, lows), max(high, mean + margin)
    else:
        low, high = min(low, mean - margin), -_clear_of_0(-high, -mean - margin, -highs)
    return max(low, -1.0), min(high, 1.0)


def _clear_of_0(low: float, widened: float, lows: Floats) -> float:
    """A lower bound above 0, as the test has rejected 0: as wide as wanted, else the smallest shift above 0."""
    positive = lows[lows > 0]
    if low <= 0:
        low = float(positive.min()) if len(positive) else math.ulp(0.0)
    return min(low, widened) if widened > 0 else low


def _shifts(flips: _Flips, total: float, n: int) -> tuple[Floats, Floats, int]:
    """For each flip the range of shifts at which it is as extreme as what was seen, and the rank of the bounds.

    At shift x the units are change − x·sizes. A flip s counts where |Σ s·(change − x·sizes)| ≥ |Σ (change − x·sizes)|,
    which is a range of x around the mean; so the p value falls on both sides of the mean, and the bound of the
    interval is an order statistic of the ends of these ranges.
    """
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (total - flips.change) / (n - flips.sizes), (total + flips.change) / (n + flips.sizes)
    lows, highs = np.fmin(one, other), np.fmax(one, other)
    everywhere = np.abs(np.abs(flips.sizes) - n) < 1e-9  # nothing, or everything flipped: extreme at any shift
    lows[everywhere], highs[everywhere] = -np.inf, np.inf
    wanted = ALPHA * len(lows) if flips.exact else ALPHA * (FLIPS + 1) - 1  # so many keep a shift from rejection
    return lows, highs, math.ceil(wanted - 1e-9) - 1


def _flips(change: Floats, sizes: Floats) -> _Flips:
    if len(change) <= EXACT_UNITS:
        return _Flips(_all_sums(change), _all_sums(sizes), exact=True)
    return _Flips(*_random_sums(change, sizes), exact=False)


def _all_sums(values: Floats) -> Floats:
    """The sum under every choice of signs with the first one kept: the other half mirrors it."""
    import numpy as np

    sums = values[:1].copy() if len(values) else np.zeros(1)
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _random_sums(change: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Both sums under 9,999 random flips; many equal units at once, the others eight at a time by tables."""
    import numpy as np

    random = np.random.default_rng(SEED)
    kinds, counts = np.unique(change + 1j * sizes, return_counts=True)  # both sums in one complex number
    sums = np.zeros(FLIPS, dtype="complex128")
    for kind, count in zip(kinds[counts >= _MANY_ALIKE], counts[counts >= _MANY_ALIKE], strict=True):
        sums += (2.0 * random.binomial(count, 0.5, FLIPS) - count) * kind
    few = np.repeat(kinds[counts < _MANY_ALIKE], counts[counts < _MANY_ALIKE])
    eights = np.append(few, np.zeros(-len(few) % 8)).reshape(-1, 8)
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype="uint8")[:, None], axis=1)
    for eight in eights:
        sums += (signs @ eight).take(random.integers(0, 256, FLIPS, dtype="uint8"))
    return sums.real, sums.imag


def _turned(change: Floats, sizes: Floats) -> bool:
    """Whether to exchange the sides: one of two mirror images is always chosen."""
    import numpy as np

    total = change.sum()
    if abs(total) > 1e-9:
        return bool(total < 0)
    here, mirrored = np.sort_complex(change + 1j * sizes), np.sort_complex(-change + 1j * sizes)
    differing = np.flatnonzero(here != mirrored)
    if not len(differing):
        return False
    one, other = here[differing[0]], mirrored[differing[0]]
    return bool((one.real, one.imag) > (other.real, other.imag))


def _detectable(change: Floats, sizes: Floats) -> float:
    """2.80·s/√n, s taken with one +1 and one −1 added, so that data without any change do not claim to show all."""
    import numpy as np

    units, n = len(change), sizes.sum()
    even = change - change.sum() / n * (sizes - n / units)  # a large cluster is no variation by being large
    spread = float(np.std(np.append(even, (1.0, -1.0)), ddof=1))
    return POWER_FACTOR * spread * math.sqrt(units) / float(n)
