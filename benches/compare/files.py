"""The files that all contenders read: made once from a fixed seed, so every machine measures on the same bytes.

Dense rows hold numbers of four digits in [0, 1); the label is the sign of a noisy linear score. Sparse rows hold 37 features out
of 2^bits, drawn by a power law (a few features are everywhere, most are rare), as words and hashed identifiers are. A file that is there already is
left as it is.
"""

import numpy

BLOCK = 20_000
SPARSE_FEATURES = 37


def write_whole(path, write):
    """`write(file)` into a file that appears under its name only when it is complete."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    with open(unfinished, "wb") as file:
        write(file)
    unfinished.replace(path)
    return path


def blocks(rows):
    """Sizes of the pieces that files are written in."""
    return [min(BLOCK, rows - start) for start in range(0, rows, BLOCK)]


def first(path, rows, has_header):
    """The first rows of a file: runs over more and fewer rows then do the same at first."""

    def write(file):
        with open(path, "rb") as lines:
            for _, line in zip(range(rows + has_header), lines):
                file.write(line)

    return write_whole(path.with_name(f"{path.stem}-first-{rows}{path.suffix}"), write)


def dense_blocks(rows, dimension):
    """(numbers in ten-thousandths, labels 0 or 1), block after block."""
    random = numpy.random.default_rng(dimension)
    weights = random.normal(size=dimension)
    for size in blocks(rows):
        numbers = random.integers(0, 10_000, size=(size, dimension))
        score = (numbers / 10_000 - 0.5) @ weights + random.normal(size=size)
        yield numbers, score > 0


def decimals(numbers, before, after):
    """One text a row: every number as 0.dddd, between `before[j]` and `after`. All rows are of one length, so that numpy can write them at once."""
    starts = [bytes(text) + b"0." for text in before]
    width = sum(len(text) + 4 for text in starts) + len(after)
    out = numpy.empty((len(numbers), width), dtype=numpy.uint8)
    place = 0
    for column, text in enumerate(starts):
        out[:, place : place + len(text)] = numpy.frombuffer(text, dtype=numpy.uint8)
        place += len(text)
        for digit, power in enumerate((1000, 100, 10, 1)):
            out[:, place + digit] = numbers[:, column] // power % 10 + ord("0")
        place += 4
    out[:, place:] = numpy.frombuffer(after, dtype=numpy.uint8)
    return [row.tobytes() for row in out]


def dense_csv(folder, rows, dimension):
    """x0,…,y with labels 0 and 1."""

    def write(file):
        file.write((",".join(f"x{j}" for j in range(dimension)) + ",y\n").encode())
        for numbers, labels in dense_blocks(rows, dimension):
            texts = decimals(numbers, [b""] + [b","] * (dimension - 1), b",")
            file.write(b"".join(text + (b"1\n" if label else b"0\n") for text, label in zip(texts, labels)))

    return write_whole(folder / f"dense-{dimension}-{rows}.csv", write)


def dense_vw(folder, rows, dimension):
    """The same rows as VW text. Features are called 0, 1, …: VW takes whole numbers as they are, without hashing, which is its fastest way."""

    def write(file):
        for numbers, labels in dense_blocks(rows, dimension):
            texts = decimals(numbers, [f" {j}:".encode() for j in range(dimension)], b"\n")
            file.write(b"".join((b"1 |" if label else b"-1 |") + text for text, label in zip(texts, labels)))

    return write_whole(folder / f"dense-{dimension}-{rows}.vw", write)


def first_distinct(drawn):
    """The first distinct numbers of each row, as many as a record has features, in increasing order."""
    order = numpy.argsort(drawn, axis=1, kind="stable")
    ordered = numpy.take_along_axis(drawn, order, axis=1)
    is_new = numpy.ones_like(drawn, dtype=bool)
    numpy.put_along_axis(is_new, order[:, 1:], ordered[:, 1:] != ordered[:, :-1], axis=1)
    wanted = is_new & (numpy.cumsum(is_new, axis=1) <= SPARSE_FEATURES)
    return numpy.sort(drawn[wanted].reshape(len(drawn), SPARSE_FEATURES), axis=1)


def sparse_blocks(rows, bits):
    """(features, distinct numbers below 2^bits in increasing order in each row; labels), block after block."""
    random = numpy.random.default_rng(bits)
    size_of_space = 1 << bits
    for size in blocks(rows):
        # Pareto ranks, spread over the space by an odd multiplier: rank decides how frequent, not where.
        ranks = random.pareto(0.5, size=(size, 4 * SPARSE_FEATURES)) * 32
        drawn = (numpy.minimum(ranks, 1e15).astype(numpy.int64) * 2_654_435_761) % size_of_space
        features = first_distinct(drawn)
        score = numpy.where(features % 7 < 3, 1.0, -0.7).sum(axis=1) + random.normal(size=size)
        yield features, score > 0


def sparse(folder, rows, bits, kind):
    """`kind` vw: `1 | 17 93 …`; libsvm: `+1 18:1 94:1 …`, in increasing order, first index 1."""

    def write(file):
        for features, labels in sparse_blocks(rows, bits):
            for row, label in zip(features.tolist(), labels.tolist()):
                if kind == "vw":
                    text = ("1 | " if label else "-1 | ") + " ".join(map(str, row))
                else:
                    text = ("1 " if label else "-1 ") + " ".join(f"{feature + 1}:1" for feature in row)
                file.write(text.encode() + b"\n")

    return write_whole(folder / f"sparse-{bits}-{rows}.{kind}", write)


def experts(folder, rows, number):
    """One loss in [0, 1) for each expert in each row."""

    def write(file):
        random = numpy.random.default_rng(number)
        file.write((",".join(f"e{j}" for j in range(number)) + "\n").encode())
        # As many rows at once as memory allows: writing goes column by column.
        at_once = max(1, 4_000_000 // number)
        for start in range(0, rows, at_once):
            losses = random.integers(0, 10_000, size=(min(at_once, rows - start), number))
            file.write(b"".join(decimals(losses, [b""] + [b","] * (number - 1), b"\n")))

    return write_whole(folder / f"experts-{number}-{rows}.csv", write)


def covtype_vw(folder, csv):
    """CoverType as a user of VW would write it: zeros left out, class 2 against the rest."""

    def write(file):
        with open(csv) as lines:
            names = next(lines).strip().split(",")
            assert names[-1] == "Cover_Type", names
            for line in lines:
                *numbers, label = line.strip().split(",")
                features = " ".join(f"{j}:{number}" for j, number in enumerate(numbers) if float(number) != 0)
                file.write(f"{1 if float(label) == 2 else -1} | {features}\n".encode())

    return write_whole(folder / "covtype.vw", write)
