"""Numbers in, numbers out: the statistics that evalkit rests on, each with its source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def wilson(rate: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a rate over `n` units, within [0, 1] and never of zero width; (nan, nan) for n = 0.

    `rate` may be a mean of values in [0, 1] and `n` an effective size; the interval is then conservative, since such
    values vary at most as much as 0 and 1 do. Source: E. B. Wilson, JASA 22 (1927), 209-212.
    """
    if n <= 0 or math.isnan(rate):
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if rate <= 0 else max(0.0, centre - half)
    high = 1.0 if rate >= 1 else min(1.0, centre + half)
    return low, high


def wilson_bounds(rates: ArrayLike, sizes: ArrayLike, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The lower and the upper bounds that `wilson` gives, for arrays of rates and sizes."""
    import numpy as np

    rate, n = np.asarray(rates, dtype="float64"), np.asarray(sizes, dtype="float64")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(n > 0, n, np.nan)
        centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = np.where(rate <= 0, np.where(np.isnan(n), np.nan, 0.0), np.maximum(0.0, centre - half))
    high = np.where(rate >= 1, np.where(np.isnan(n), np.nan, 1.0), np.minimum(1.0, centre + half))
    return low, high


def effective_size(
    n: float,
    mean: float,
    squares: float,
    clusters: float,
    cluster_squares: float,
    cluster_products: float,
    cluster_sizes: float,
) -> float:
    """How many independent cases `n` clustered ones are worth: n / design effect, from the number of clusters to n.

    The design effect is the clustered variance of the mean over the plain one. `squares` is Σx², the cluster sums are
    those of `counts.ToolCounts`. Where nothing varies, or all cases are of one cluster, there is no design effect to
    measure, and the clusters are counted. Source: E. Miller, "Adding Error Bars to Evals" (2024), equations 3 and 4.
    """
    sums = (n, mean, squares, clusters, cluster_squares, cluster_products, cluster_sizes)
    return float(effective_sizes(*([value] for value in sums))[0])


def effective_sizes(
    n: ArrayLike,
    mean: ArrayLike,
    squares: ArrayLike,
    clusters: ArrayLike,
    cluster_squares: ArrayLike,
    cluster_products: ArrayLike,
    cluster_sizes: ArrayLike,
) -> Floats:
    """What `effective_size` gives, for arrays."""
    import numpy as np

    cases, average, count = (np.asarray(values, dtype="float64") for values in (n, mean, clusters))
    plain = np.asarray(squares) - cases * average * average
    products = 2 * average * np.asarray(cluster_products)
    clustered = np.asarray(cluster_squares) - products + average * average * np.asarray(cluster_sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(clustered > 1e-12 * cases, cases * plain / clustered, cases)
        size = np.clip(size, count, np.maximum(cases, count))
        unmeasured = (plain <= 1e-12 * cases) | (count <= 1)
        return np.where(count >= cases, cases, np.where(unmeasured, count, size))


def independent(values: Floats, clusters: Any) -> float:
    """How many independent ones these values are worth (see `effective_size`); without a cluster each is one."""
    import numpy as np
    import pandas as pd

    n = len(values)
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    codes = np.where(codes < 0, len(names) + np.arange(n), codes)
    counts, sums = np.bincount(codes).astype("float64"), np.bincount(codes, weights=values)
    sums, counts = sums[counts > 0], counts[counts > 0]
    return effective_size(
        n, float(values.mean()) if n else 0.0, float((values**2).sum()), len(counts),
        float((sums**2).sum()), float((sums * counts).sum()), float((counts**2).sum()),
    )  # fmt: skip


def holm(p_values: ArrayLike) -> Floats:
    """The p values adjusted for being one family, in the order given; NaN stays NaN and is not of the family.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.
    """
    import numpy as np

    given = np.asarray(p_values, dtype="float64")
    adjusted = np.full(given.shape, math.nan)
    known = ~np.isnan(given)
    ranks = np.argsort(given[known], kind="stable")  # statsmodels does the same, and collects all garbage at each call
    stepped = given[known][ranks] * np.arange(len(ranks), 0, -1)
    places = np.flatnonzero(known)[ranks]
    adjusted[places] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


@dataclass(frozen=True)
class Agreement:
    """How far two raters agree who each said yes or no to `n` items: shares with 95 % intervals, NaN for n = 0.

    `kappa` is NaN where both gave one and the same answer throughout: nothing could show more than chance.
    """

    n: int
    agreement: float
    agreement_low: float
    agreement_high: float
    kappa: float
    kappa_low: float
    kappa_high: float


def agreement(
    both_yes: int, only_first: int, only_second: int, both_no: int, *, size: float | None = None
) -> Agreement:
    """Raw agreement and Cohen's kappa of two raters, from the four counts of their table.

    `size` is the effective number of items where they are not independent. The interval of kappa is the Wilson
    interval of the agreement, seen from the agreement that the raters' own shares make by chance: J. Cohen's (1960)
    standard error, which takes the shares as given, without its normal approximation, so that full agreement over a
    few items is not certainty.
    """
    n = both_yes + only_first + only_second + both_no
    nan = math.nan
    if n == 0:
        return Agreement(0, nan, nan, nan, nan, nan, nan)
    agreed = (both_yes + both_no) / n
    low, high = wilson(agreed, n if size is None else size)
    first, second = (both_yes + only_first) / n, (both_yes + only_second) / n
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1 - 1e-12:
        return Agreement(n, agreed, low, high, nan, nan, nan)
    kappa, kappa_low, kappa_high = ((share - chance) / (1 - chance) for share in (agreed, low, high))
    return Agreement(n, agreed, low, high, kappa, max(-1.0, kappa_low), min(1.0, kappa_high))


def pass_at_k(passed: Any, trials: Any, k: Any) -> Floats:
    """The chance that at least one of `k` trials passes, unbiased, given `passed` of `trials`; NaN for fewer than k.

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), equation 1.
    """
    import numpy as np

    tried = np.asarray(trials, dtype="float64")
    return 1 - _all_of_k(tried - np.asarray(passed, dtype="float64"), tried, k)


def pass_hat_k(passed: Any, trials: Any, k: Any) -> Floats:
    """The chance that all of `k` trials pass (pass^k), unbiased, given `passed` of `trials`; NaN for fewer than k.

    Source: S. Yao et al., "tau-bench" (2024), section 3.
    """
    return _all_of_k(passed, trials, k)


def _all_of_k(chosen: Any, trials: Any, k: Any) -> Floats:
    """C(chosen, k) / C(trials, k), as a product, so that no number grows large."""
    import numpy as np

    some, tried, wanted = np.broadcast_arrays(*(np.asarray(given, dtype="float64") for given in (chosen, trials, k)))
    if wanted.size and not ((wanted >= 1) | np.isnan(wanted)).all():
        raise ValueError(f"k must be at least 1, got {wanted.min():g}")
    share = np.where(tried >= wanted, 1.0, np.nan)
    for step in range(int(np.nanmax(wanted, initial=0))):
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.clip(some - step, 0, None) / (tried - step)
        share = np.where((step < wanted) & (tried >= wanted), share * factor, share)
    return share
