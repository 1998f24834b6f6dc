"""Writes numeric_tables.txt: FNV-1a hashes of what torch makes of every bit pattern of the narrow
floats (decode) and of every rounding case between neighbours (encode). Run with torch >= 2.11:

    python numeric_tables.py > numeric_tables.txt

decode: float32 bits of codes 0, 1, 2...; NaN as 0x7fc00000.
encode: for code c = 0, 1... up to the largest finite one, with the midpoint m to the next magnitude
(for the largest: where the next would be): codes of m, the float32 below m, the one above m, then of
-m, -below, -above.
"""
import struct

import torch

MASK = (1 << 64) - 1


def fnv(words, size):
    h = 0xCBF29CE484222325
    for word in words:
        for byte in word.to_bytes(size, "little"):
            h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def next_float(x, step):
    return struct.unpack("<f", struct.pack("<I", bits(x) + step))[0]


for name, dtype, codes, largest in [
    ("f16", torch.float16, 1 << 16, 0x7BFF),
    ("bf16", torch.bfloat16, 1 << 16, 0x7F7F),
    ("f8e4m3fn", torch.float8_e4m3fn, 1 << 8, 0x7E),
    ("f8e5m2", torch.float8_e5m2, 1 << 8, 0x7B),
]:
    integer = torch.uint8 if codes == 256 else torch.int16
    patterns = torch.arange(codes).to(integer).view(dtype).to(torch.float32)
    words = [0x7FC00000 if x != x else bits(x) for x in patterns.tolist()]
    print(name, "decode", f"{fnv(words, 4):016x}")

    cases = []
    values = patterns.to(torch.float64).tolist()
    for c in range(largest + 1):
        following = values[c + 1] if c < largest else 2 * values[c] - values[c - 1]
        m = (values[c] + following) / 2
        three = [m, next_float(m, -1), next_float(m, 1)]
        cases += three + [-x for x in three]
    # The midpoint above bfloat16's largest number and all others are float32 numbers.
    narrow = torch.tensor(cases, dtype=torch.float64).to(torch.float32).to(dtype).view(integer)
    mask = 0xFF if codes == 256 else 0xFFFF
    print(name, "encode", f"{fnv([x & mask for x in narrow.tolist()], 1 if codes == 256 else 2):016x}")
