"""A second implementation of every noise sampler, from its mathematics, and the known answers made with it.

    python noise.py write    writes crates/noise/tests/vectors/noise.json
    python noise.py check    computes everything again; exits with 1 if the file differs

Needs mpmath and pycryptodome. Nothing is shared with the Rust crate, and none of its shortcuts is taken: all bits of
every draw are read, cell weights and acceptance probabilities are real numbers of 640 bits, magnitudes are exact
integers, and roundings are made on the real number itself rather than by identities on its digits.
"""

import hashlib
import hmac
import json
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import mpmath
from Crypto.Cipher import AES
from mpmath import mpf

mpmath.mp.prec = 640
VECTORS = Path(__file__).resolve().parent.parent / "crates/noise/tests/vectors/noise.json"
MASK64 = 2**64 - 1

# ---------------------------------------------------------------------------------------------------------------------
# Bits


def hkdf_expand_32(secret, info):
    """HKDF-Expand (RFC 5869) with SHA-256 for one block of output."""
    return hmac.new(secret, info + b"\x01", hashlib.sha256).digest()


ROUNDED, FINE, STREAM, L2_DIRECTION, L2_RADIUS, LAPLACE = range(6)
EXTENSION = 8


class Source:
    def __init__(self, seed, instance, mechanism):
        key = hkdf_expand_32(bytes(32), b"hushstream insecure seed v1 " + seed.to_bytes(8, "little"))
        info = b"hushstream noise v1 " + instance + mechanism.to_bytes(8, "little")
        self.cipher = AES.new(hkdf_expand_32(key, info), AES.MODE_ECB)

    def words(self, node, lane, domain, counter=0):
        """The two 64-bit words of a block."""
        assert node < 2**64 and lane < 2**32 and domain < 2**4 and counter < 2**28
        address = counter + (domain << 28) + (lane << 32) + (node << 64)
        block = self.cipher.encrypt(address.to_bytes(16, "little"))
        return int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")

    def cursor(self, node, lane, domain=STREAM):
        return Cursor(self, node, lane, domain)


class Cursor:
    def __init__(self, source, node, lane, domain):
        self.address = source, node, lane, domain
        self.taken = 0

    def word(self):
        source, node, lane, domain = self.address
        block, half = divmod(self.taken, 2)
        self.taken += 1
        return source.words(node, lane, domain, block)[half]

    def below(self, bound):
        """Uniform on 0..bound-1: the low bits of one word, or of two (first word low) for more than 64 bits."""
        bits = 0
        while 2**bits < bound:
            bits += 1
        while True:
            value = self.word()
            if bits > 64:
                value += self.word() << 64
            value %= 2**bits
            if value < bound:
                return value


# ---------------------------------------------------------------------------------------------------------------------
# Normals

CELLS = 2048
COLUMN = 2**117


def cell_weights():
    densities = [mpmath.exp(-mpf(j * j) / 2**15) for j in range(CELLS)]
    total = mpmath.fsum(densities)
    shares = [2**128 * density / total for density in densities]
    # No share may be so near a whole number that the crate's error of 2^-240 in a density could move it.
    assert all(abs(s - mpmath.nint(s)) > mpf(2) ** -100 for s in shares if s > 0.5)
    weights = [int(mpmath.floor(share)) for share in shares]
    weights[0] += 2**128 - sum(weights)
    return weights


def alias_table(weights):
    left, alias, threshold = list(weights), list(range(CELLS)), [COLUMN] * CELLS
    small = [j for j in range(CELLS) if left[j] < COLUMN]
    large = [j for j in range(CELLS) if left[j] >= COLUMN]
    while small and large:
        poor, rich = small.pop(), large.pop()
        alias[poor], threshold[poor] = rich, left[poor]
        left[rich] += left[poor] - COLUMN
        (small if left[rich] < COLUMN else large).append(rich)
    given = [0] * CELLS
    for column in range(CELLS):
        given[column] += threshold[column]
        given[alias[column]] += COLUMN - threshold[column]
    assert given == weights and sum(weights) == 2**128
    return alias, threshold


ALIAS, THRESHOLD = alias_table(cell_weights())


class Bits:
    """A long bit string, read from its most significant end."""

    def __init__(self, value, length):
        self.value, self.left = value, length

    def take(self, count):
        self.left -= count
        assert self.left >= 0
        return (self.value >> self.left) % 2**count


class Tally:
    """How the draws of one vector were decided."""

    def __init__(self):
        self.draws, self.undecided, self.attempts = 0, 0, Counter()

    def report(self):
        return {
            "draws": self.draws,
            "undecided_by_64_bits": self.undecided,
            "draws_with_rejections": {str(k - 1): n for k, n in sorted(self.attempts.items()) if k > 1},
        }


def undecided_by_64_bits(first):
    """Whether the first word leaves the cell, or acceptance by the bound e^(-x) >= 1-x, open. Only counted."""
    bits = Bits(first, 64)
    column, place, v, _, u = (bits.take(n) for n in (11, 15, 24, 1, 13))
    if place << 102 < THRESHOLD[column] < (place + 1) << 102 or place << 102 == THRESHOLD[column]:
        return True
    cell = column if place << 102 < THRESHOLD[column] else ALIAS[column]
    return Fraction(u + 1, 2**13) > 1 - Fraction((2 * cell + 1) * (v + 1), 2**39)


def attempt(first, low, e0, e1, e2):
    """(sign, floor(2^199 |Z|), accepted) of one proposal, from all its bits."""
    head, e0, e1, e2 = Bits(first, 64), Bits(e0, 128), Bits(e1, 128), Bits(e2, 128)
    column = head.take(11)
    place = head.take(15) << 102 | e0.take(102)
    position = (head.take(24) << 64 | low) << 40 | e1.take(40)
    sign = -1 if head.take(1) else 1
    uniform = mpf(head.take(13) << 115 | e2.take(115)) / 2**128
    further = e1.value & MASK64

    cell = column if place < THRESHOLD[column] else ALIAS[column]
    digits = position << 64 | further  # V = digits/2^192
    v = mpf(digits) / 2**192
    ratio = mpmath.exp(-v * (2 * cell + v) / 2**15)
    assert abs(ratio - uniform) > mpf(2) ** -110, "too close to call: the two may differ within the slack"
    return sign, (cell << 192) + digits, bool(uniform < ratio)


def normal(source, node, coordinate, domain, tally=None):
    """(sign, floor(2^199 |Z|)) of the standard normal at an address."""

    def extension(counter):
        return source.words(node, coordinate, domain + EXTENSION, counter)

    if domain == ROUNDED:
        first = source.words(node, coordinate // 2, domain)[coordinate % 2]
        low = extension(0)[1]
    else:
        first, low = source.words(node, coordinate, domain)
    open_ = undecided_by_64_bits(first)
    for k in range(32):
        if k > 0:
            first, low = extension(4 * k)
        extra = [(high << 64) + rest for high, rest in (extension(4 * k + i) for i in (1, 2, 3))]
        sign, magnitude, accepted = attempt(first, low, *extra)
        assert accepted or k > 0 or open_, "what 64 bits accept, all bits accept"
        if accepted:
            break
    if tally is not None:
        tally.draws += 1
        tally.undecided += open_
        tally.attempts[k + 1] += 1
    return sign, magnitude


def floor_scaled(z, numerator_bits, half):
    """floor(2^bits Z + half/2) for the Z inside the open interval of width 2^-199 that (sign, magnitude) names."""
    sign, magnitude = z
    return (((sign * (2 * magnitude + 1)) << numerator_bits) + (half << 199)) // 2**200


def rounded_gaussian(source, bits, node, coordinate, tally=None):
    return floor_scaled(normal(source, node, coordinate, ROUNDED, tally), bits, 1)


def fine_gaussian(source, guard_bits, node, coordinate, tally=None):
    return floor_scaled(normal(source, node, coordinate, FINE, tally), 30 + guard_bits, 0)


# ---------------------------------------------------------------------------------------------------------------------
# The other samplers


def l2_laplace(source, dimension, scale, node, first, count):
    squares = sum(normal(source, node, lane, L2_RADIUS)[1] ** 2 for lane in range(dimension + 1))
    with mpmath.workprec(1200):
        length = mpmath.sqrt(mpf(squares)) / mpf(2) ** 199
        values = []
        for lane in range(first, first + count):
            sign, magnitude = normal(source, node, lane, L2_DIRECTION)
            v = scale * length * sign * magnitude / mpf(2) ** 199
            rounded = mpmath.floor(v + mpf(1) / 2)
            assert abs(abs(v - rounded) - mpf(1) / 2) > mpf(2) ** -100, "too close to call"
            values.append(int(rounded))
    return values


def coin_exp_minus_fraction(numerator, denominator, cursor):
    """The first tails among coins x/1, x/2, x/3, ... comes at an odd toss."""
    tosses = 1
    while cursor.below(denominator * tosses) < numerator:
        tosses += 1
    return tosses % 2 == 1


def coin_ratio(numerator, denominator, cursor):
    return cursor.below(denominator) < numerator


def coin_exp_minus(numerator, denominator, cursor):
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not coin_exp_minus_fraction(1, 1, cursor):
            return False
    return coin_exp_minus_fraction(rest, denominator, cursor)


def discrete_laplace(scale, cursor):
    while True:
        rest = cursor.below(scale)
        if not coin_exp_minus_fraction(rest, scale, cursor):
            continue
        whole = 0
        while coin_exp_minus_fraction(1, 1, cursor):
            whole += 1
        value = rest + scale * whole
        if cursor.below(2) == 0:
            return value
        if value != 0:
            return -value


def choice_weight(rate, excess):
    """2^64 e^(-x) rounded up: 2^64 for x = 0, 1 from x = 45 on, else two more than the floor.

    Within 2^-56 of a whole number the crate may round to the other side, which is as exact but another draw.
    """
    x = rate * excess
    if x == 0:
        return 2**64
    if x >= 45:
        return 1
    # Enough digits to tell e^(-x) from 1 for the smallest x there can be, 2^-1100.
    with mpmath.workprec(1400):
        weight = 2**64 * mpmath.exp(-mpf(x.numerator) / x.denominator)
        nearest = mpmath.nint(weight)
        assert nearest == 2**64 or abs(weight - nearest) > mpf(2) ** -56, "too close to call"
        return int(mpmath.floor(weight)) + 2


def exponential_choice(rate, penalties, cursor):
    least = min(penalties)
    weights = [choice_weight(rate, penalty - least) for penalty in penalties]
    while True:
        place = cursor.below(sum(weights))
        chosen = 0
        while place >= weights[chosen]:
            place -= weights[chosen]
            chosen += 1
        if penalties[chosen] == least:
            return chosen
        x = rate * (penalties[chosen] - least)
        uniform, digits = 0, 0
        with mpmath.workprec(1400):
            target = 2**64 * mpmath.exp(-mpf(x.numerator) / x.denominator) / weights[chosen]
            while True:
                digits += 64
                uniform = (uniform << 64) + cursor.word()
                if uniform + 1 <= target * mpf(2) ** digits:
                    return chosen
                if uniform >= target * mpf(2) ** digits:
                    break


# ---------------------------------------------------------------------------------------------------------------------
# Vectors

SOURCES = [
    (0, bytes(16), 0),
    (1, bytes(range(16)), 1),
    (2**64 - 1, bytes([255] * 16), 2**64 - 1),
    (0x0123456789ABCDEF, bytes.fromhex("00112233445566778899aabbccddeeff"), 0x8000000000000001),
]
NODES = [0, 1, 2**63 + 5, 2**64 - 1]

# Coordinates of draws that few addresses reach, found by a search over 1.2 * 10^8 addresses of each law: a place in the
# column that agrees with the threshold in all bits of the first word; two and three rejections; beyond 5.4 deviations.
RARE_ROUNDED = [
    (1, 2**63 + 5, coordinate)
    for coordinate in (
        *(2325, 27215, 147533, 160727, 164537, 206705),
        *(137119, 145576, 225768, 668154, 927128, 1050966, 103461, 36961985, 68067800),
        *(7701236, 70274186, 28228349, 118929332, 64682317, 32724136),
    )
]
RARE_FINE = [
    (2, 2**64 - 1, coordinate)
    for coordinate in (
        *(81375, 115114, 151163, 183042, 198817, 212244),
        *(89539, 132405, 155000, 324927, 10019704, 53091944, 85039813, 88668347, 104479423, 107646571),
        *(55618236, 13003421, 61594046, 47329246, 24561092, 15199269),
    )
]


def opened():
    return [Source(*parameters) for parameters in SOURCES]


def address(source, node, **more):
    return {"source": source, "node": str(node)} | more


def digest(values, size):
    hasher = hashlib.sha256()
    for value in values:
        hasher.update(value.to_bytes(size, "little", signed=True))
    return hasher.hexdigest()


def gaussian_vectors(sources, law, parameter, parameters, runs, size):
    vectors = []
    for p in parameters:
        for source, node, first, count in runs[p]:
            tally = Tally()
            values = [law(sources[source], p, node, first + i, tally) for i in range(count)]
            entry = address(source, node, first=first, count=count) | {parameter: p}
            entry["head"] = [str(value) for value in values[:16]]
            if count > 16:
                entry["sha256"] = digest(values, size)
            entry["decided"] = tally.report()
            vectors.append(entry)
    return vectors


def gaussian_runs(parameters, long_run):
    """For every parameter short runs at many addresses; for those named in `long_run`, a long one too."""
    runs = {}
    for p in parameters:
        runs[p] = [(s, node, first, 5) for s, (node, first) in enumerate(zip(NODES, (0, 7, 2**31 - 2, 2**32 - 6)))]
        runs[p] += [(1, 2**63 + 5, 2**32 - 1, 1), (2, 0, 1, 1), (3, 1, 4_000_000_001, 200)]
        runs[p] += long_run.get(p, [])
    return runs


def build():
    sources = opened()
    out = {
        "about": [
            "Known answers for the noise samplers, made by oracle/noise.py, which shares no code with them.",
            "Numbers that may exceed 2^53 are strings. `source` is an index into `sources`; its key comes from the seed.",
            "sha256 is over all values, little-endian two's complement: 8 bytes each for the rounded Gaussian, 16 for the fine.",
            "`decided`: how many draws the first 64 bits leave undecided, and how many had how many rejected attempts.",
            "`next_word` is the word that follows the last draw: the draws took exactly the bits they should.",
        ],
        "sources": [
            {"seed": str(seed), "instance": instance.hex(), "mechanism": str(mechanism)}
            for seed, instance, mechanism in SOURCES
        ],
    }

    out["cursor_words"] = []
    for s, source in enumerate(sources):
        for node in NODES:
            for lane in (0, 1, 2**31, 2**32 - 1):
                cursor = source.cursor(node, lane)
                words = [str(cursor.word()) for _ in range(5)]
                out["cursor_words"].append(address(s, node, lane=lane, words=words))

    out["rounded_gaussian"] = gaussian_vectors(
        sources,
        rounded_gaussian,
        "bits",
        (30, 4, 0),
        gaussian_runs((30, 4, 0), {30: [(0, 2**63 + 5, 3, 60_001)], 4: [(1, 9, 10, 6_000)]}),
        8,
    )
    out["fine_gaussian"] = gaussian_vectors(
        sources,
        fine_gaussian,
        "guard_bits",
        (0, 1, 16, 32, 64),
        gaussian_runs((0, 1, 16, 32, 64), {64: [(0, 2**64 - 1, 5, 40_000)], 16: [(2, 3, 2**32 - 2_001, 2_000)]}),
        16,
    )
    out["rare_gaussian"] = []
    for law, name, size, rare in (
        (rounded_gaussian, "rounded", 30, RARE_ROUNDED),
        (fine_gaussian, "fine", 64, RARE_FINE),
    ):
        for source, node, coordinate in rare:
            tally = Tally()
            value = law(sources[source], size, node, coordinate, tally)
            (attempts,) = tally.attempts
            entry = address(source, node, coordinate=coordinate, law=name, value=str(value), rejections=attempts - 1)
            out["rare_gaussian"].append(entry)

    # The very last address: its successor does not exist.
    out["last_address"] = address(
        0, 2**64 - 1, coordinate=2**32 - 1,
        rounded_30=str(rounded_gaussian(sources[0], 30, 2**64 - 1, 2**32 - 1)),
        fine_64=str(fine_gaussian(sources[0], 64, 2**64 - 1, 2**32 - 1)),
    )

    out["discrete_laplace"] = []
    for scale in (1, 7, 2**30, 2**40):
        for s, node, first, count in [(0, 0, 0, 64), (1, 2**63 + 5, 7, 16), (2, 2**64 - 1, 2**32 - 16, 16), (3, 1, 2**32 - 1, 1)]:
            values = [discrete_laplace(scale, sources[s].cursor(node, first + i, LAPLACE)) for i in range(count)]
            out["discrete_laplace"].append(
                address(s, node, first=first, scale=str(scale), values=[str(value) for value in values])
            )

    out["l2_laplace"] = []
    for dimension in (1, 2, 20, 200):
        for scale in (1, 1000, 2**30):
            places = [(0, 0, 0, dimension), (3, 2**64 - 1, 0, dimension), (1, 2**63 + 5, dimension - 1, 1)]
            for s, node, first, count in places:
                values = l2_laplace(sources[s], dimension, scale, node, first, count)
                out["l2_laplace"].append(
                    address(s, node, first=first, dimension=dimension, scale=str(scale), values=[str(v) for v in values])
                )

    out["coin"] = []
    lane = 0
    for law, toss, fractions in (
        ("ratio", coin_ratio, [(1, 3), (0, 7), (7, 7), (1, 1), (999, 1000), (2**63, 2**64 - 1), (2**64 - 1, 2**64 - 1), (3, 2**63)]),
        (
            "exp_minus",
            coin_exp_minus,
            [(1, 2), (0, 5), (1, 1), (7, 2), (3, 1), (1, 1000), (17, 5), (2**63 + 1, 2**64 - 1), (2**64 - 1, 1), (2**64 - 1, 2**63)],
        ),
    ):
        for numerator, denominator in fractions:
            s, node = lane % len(sources), NODES[lane % 3 + 1]
            cursor = sources[s].cursor(node, lane)
            tosses = "".join("1" if toss(numerator, denominator, cursor) else "0" for _ in range(100))
            out["coin"].append(
                address(s, node, lane=lane, law=law, numerator=str(numerator), denominator=str(denominator),
                        tosses=tosses, next_word=str(cursor.word()))
            )
            lane += 1

    out["exponential_choice"] = []
    small = [1000, 1003, 1000, 1001, 1040, 9000, 1010]
    wide = [2**64 - 1, 2**64 - 5, 2**63, 2**64 - 2]
    scattered = [k * 0x9E3779B97F4A7C15 % 2**64 for k in range(6)]
    many = [(k * 7919) % 97 for k in range(100)]
    lane = 2**32 - 1
    for rate, penalties in [
        (0.25, small), (0.1, small), (1.0, small), (3.5, small), (5e-324, wide), (1e-300, small), (2.0**-60, wide),
        (1.0 / 3.0, many), (0.01, many), (2.0**53 - 1.0, small), (1e-19, wide), (2.0**-50, [0, 1, 2, 3]),
        ((1, 0), [3, 4, 5, 3]), ((1, 1100), wide), ((2**64 - 1, 0), wide), ((2**64 - 1, 64), small),
        ((2**64 - 1, 127), scattered), ((2**64 - 1, 128), scattered), ((2**64 - 1, 129), scattered),
        ((1, 127), scattered), ((1, 128), scattered), ((3, 129), scattered), ((2**64 - 1, 65), scattered),
        ((5, 3), [44, 0, 20, 60, 71, 72, 73]), ((2**64 - 1, 1100), [0, 2**64 - 1]), ((3, 2), [7]),
    ]:
        if isinstance(rate, float):
            exact, named = Fraction(rate), {"rate_f64": repr(rate)}
        else:
            exact, named = Fraction(rate[0], 2 ** rate[1]), {"mantissa": str(rate[0]), "shift": rate[1]}
        s, node = lane % len(sources), NODES[lane % 3 + 1]
        cursor = sources[s].cursor(node, lane)
        drawn = [exponential_choice(exact, penalties, cursor) for _ in range(60)]
        out["exponential_choice"].append(
            address(s, node, lane=lane, penalties=[str(p) for p in penalties], drawn=drawn, next_word=str(cursor.word()))
            | named
        )
        lane -= 1
    return out


def text(vectors):
    """One entry a line."""
    parts = []
    for name, value in vectors.items():
        if isinstance(value, list):
            lines = ",\n".join("    " + json.dumps(entry) for entry in value)
            parts.append(f"  {json.dumps(name)}: [\n{lines}\n  ]")
        else:
            parts.append(f"  {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    if sys.argv[1:] == ["write"]:
        VECTORS.parent.mkdir(parents=True, exist_ok=True)
        VECTORS.write_text(text(build()))
        return 0
    if sys.argv[1:] == ["check"]:
        ours, theirs = text(build()).splitlines(), VECTORS.read_text().splitlines()
        differing = [i for i in range(max(len(ours), len(theirs))) if ours[i : i + 1] != theirs[i : i + 1]]
        for i in differing[:10]:
            print(f"line {i + 1} differs:\n  file   {theirs[i : i + 1]}\n  oracle {ours[i : i + 1]}")
        print(f"{VECTORS.name}: {len(differing)} of {len(ours)} lines differ")
        return 1 if differing else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
