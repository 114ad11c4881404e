"""Numbers in, numbers out: the statistics that evalkit rests on, each with its source."""

from __future__ import annotations

import math
from statistics import NormalDist


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
    those of `counts.ToolCounts`. Where nothing varies there is no design effect to measure, and the clusters are
    counted. Source: E. Miller, "Adding Error Bars to Evals" (2024), equations 3 and 4.
    """
    if clusters >= n:
        return n
    plain = squares - n * mean * mean
    clustered = cluster_squares - 2 * mean * cluster_products + mean * mean * cluster_sizes
    if plain <= 1e-12 * n:
        return clusters
    return min(n, max(clusters, n * plain / clustered)) if clustered > 0 else n
