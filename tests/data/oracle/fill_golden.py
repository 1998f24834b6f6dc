"""Writes fill_golden.txt: what recipes must give, computed by a second implementation (Python
integers, and exact fractions rounded once where the library uses fused multiply-add).

    python fill_golden.py > fill_golden.txt

A line: distribution, dtype, FNV-1a of the bytes of elements 0..999, elements 0..7.
Key of the stream: 0x0123456789abcdef. Philox: Salmon et al., SC'11. Normal quantiles: the ordinary
differential equation of the inverse distribution, checked against statistics.NormalDist below.
"""
import bisect
import math
import statistics
import struct
from fractions import Fraction

KEY, COUNT = 0x0123456789ABCDEF, 1000
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def philox(key, low, high):
    k = [key & MASK32, key >> 32]
    x = [low & MASK32, low >> 32, high & MASK32, high >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(b >> 32) ^ x[1] ^ k[0], b & MASK32, (a >> 32) ^ x[3] ^ k[1], a & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return x


def word(i, stream=0):
    x = philox(KEY, i // 2, stream)
    return x[2 * (i % 2)] | x[2 * (i % 2) + 1] << 32


def fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def quantile_table():
    x = 6.230260137989043
    f = x
    for i in range(64, 0, -1):
        f = x + i / f
    m, r = x, 1 / f
    table = [int(m * 2.0**46)]

    def slope(p, m, r):
        g = r / p
        return -g, g * fma(-m, r, 1.0)

    for k in range(31):
        octave = 2.0 ** (k - 32)
        h = octave / 128
        for j in range(128):
            p = fma(h, float(j), octave)
            a = slope(p, m, r)
            b = slope(p + h / 2, fma(h / 2, a[0], m), fma(h / 2, a[1], r))
            c = slope(p + h / 2, fma(h / 2, b[0], m), fma(h / 2, b[1], r))
            d = slope(p + h, fma(h, c[0], m), fma(h, c[1], r))
            for step, s in ((h / 6, a), (h / 3, b), (h / 3, c), (h / 6, d)):
                m, r = fma(step, s[0], m), fma(step, s[1], r)
            table.append(int(m * 2.0**46))
    table[-1] = 0
    return table


TABLE = quantile_table()
PROBABILITIES = [2.0 ** (k - 32) * (1 + j / 128) for k in range(31) for j in range(128)] + [0.5]
for p, z in zip(PROBABILITIES, TABLE):
    assert abs(-statistics.NormalDist().inv_cdf(p) - z * 2.0**-46) < 1e-9, p


def normal(w):
    # The tail probability in units of 2^-64; linear between the points of the table.
    tail = max(Fraction(w & (MASK64 >> 1), 1 << 64), Fraction(1, 1 << 32))
    at = bisect.bisect_right(PROBABILITIES, tail) - 1
    low, high = Fraction(PROBABILITIES[at]), Fraction(PROBABILITIES[at + 1])
    fraction = math.floor((tail - low) / (high - low) * (1 << 24))
    z = TABLE[at] + ((TABLE[at + 1] - TABLE[at]) * fraction >> 24)
    return (-z if w >> 63 else z) * 2.0**-46


def shuffle(n):
    order = list(range(n))
    for i in range(n, 1, -1):
        j = word(i - 1, 2) * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


words = [word(i) for i in range(COUNT)]
order = shuffle(COUNT)
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
rows = [
    ("normal", "f32", "<f", [f32(normal(w)) for w in words]),
    ("normal", "f64", "<d", [normal(w) for w in words]),
    ("normal(3,0.7)", "f64", "<d", [fma(0.7, normal(w), 3.0) for w in words]),
    ("normal", "f16", "<e", [normal(w) for w in words]),
    ("uniform", "f32", "<f", [f32((w >> 11) * 2.0**-53) for w in words]),
    ("uniform(-2,5)", "f64", "<d", [fma(7.0, (w >> 11) * 2.0**-53, -2.0) for w in words]),
    ("randint(-10,1000)", "i64", "<q", [-10 + (w * 1010 >> 64) for w in words]),
    ("bernoulli(0.3)", "bool", "<B", [int((w >> 11) < int(0.3 * 2**53)) for w in words]),
    ("permutation", "i64", "<q", order),
    ("labels", "f16", "<e", [float(i % 2048) for i in range(COUNT)]),
    ("labels", "i8", "<b", [i % 128 for i in range(COUNT)]),
    ("signs", "f32", "<f", [1.0 if i < COUNT // 2 else -1.0 for i in order]),
]
for name, dtype, code, values in rows:
    h = 0xCBF29CE484222325
    for value in values:
        for byte in struct.pack(code, value):
            h = ((h ^ byte) * 0x100000001B3) & MASK64
    first = [struct.unpack(code, struct.pack(code, v))[0] for v in values[:8]]
    print(name, dtype, f"{h:016x}", *(repr(v) for v in first))
