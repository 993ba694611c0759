"""The beta distribution: its function, its quantile, and what is made from them.

Numerics after the continued fraction of the regularised incomplete beta function (modified
Lentz); the quantile by Newton's method held inside a shrinking bracket. Tested against scipy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_EPSILON = 1e-16


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = _log_front(x, a, b)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1 - math.exp(log_front) * _fraction(1 - x, b, a) / b


@lru_cache(maxsize=1024)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p."""
    if not 0 <= p <= 1:
        raise ValueError(f"a probability is from 0 to 1, not {p}")
    if p in (0.0, 1.0):
        return p
    low, high = 0.0, 1.0
    x = _first_guess(p, a, b)
    for _ in range(200):
        error = beta_cdf(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        guess = _newton(x, error, a, b)
        step = guess if low < guess < high else (low + high) / 2
        if abs(step - x) <= 1e-12 * x or high - low <= 1e-15 * high:
            return step
        x = step
    return x


def _first_guess(p: float, a: float, b: float) -> float:
    """Cornish and Fisher's, by way of Fisher's z, where it is good; else the mean."""
    if a <= 1 or b <= 1:
        return a / (a + b)
    z = NormalDist().inv_cdf(p)
    spread = (z * z - 3) / 6
    harmonic = 2 / (1 / (2 * a - 1) + 1 / (2 * b - 1))
    w = z * math.sqrt(harmonic + spread) / harmonic if harmonic + spread > 0 else 0.0
    w -= (1 / (2 * b - 1) - 1 / (2 * a - 1)) * (spread + 5 / 6 - 2 / (3 * harmonic))
    return a / (a + b * math.exp(-2 * w))


def student_quantile(p: float, freedom: float) -> float:
    """Student's t quantile for p > 0.5."""
    x = beta_quantile(2 * (1 - p), freedom / 2, 0.5)
    return math.sqrt(freedom * (1 / x - 1))


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(at most k of n) when each has probability p."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else beta_cdf(1 - p, n - k, k + 1)


def _newton(x: float, error: float, a: float, b: float) -> float:
    log_density = _log_front(x, a, b) - math.log(x) - math.log1p(-x)
    return x - error * math.exp(-log_density) if log_density > -690 else math.nan


def _log_front(x: float, a: float, b: float) -> float:
    """log of x^a (1−x)^b / B(a, b)."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return a * math.log(x) + b * math.log1p(-x) - log_beta


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b), fast where x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 / _kept(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _kept(1 + even * d)
        c = _kept(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _kept(1 + odd * d)
        c = _kept(1 + odd / c)
        value *= d * c
        if abs(d * c - 1) < _EPSILON * 4:
            return value
    return value


def _kept(value: float) -> float:
    """Away from zero, so that it can be divided by."""
    return value if abs(value) > _TINY else _TINY
