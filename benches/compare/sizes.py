"""How long the files are: `quick` to try things, the default to publish, `full` for the longest curve."""

import dataclasses


@dataclasses.dataclass
class Sizes:
    """Rows of the files, rounds of the contests, and how far the curve over T goes (T·d)."""

    dense: dict
    sparse: int
    # Rows of CoverType for tables of pairs and triples.
    tuples: int
    river: int
    rounds: int
    # Dimensions of the private sums.
    steps: list
    numbers: list
    sparse_bits: list
    sparse_curve: int
    expert_numbers: list
    # Losses in each file of experts.
    losses: int


DEFAULT = Sizes(
    dense={54: 400_000, 90: 240_000},
    sparse=300_000,
    tuples=581_012,
    river=20_000,
    rounds=5,
    steps=[54, 1024],
    numbers=[10**6, 10**7, 10**8, 10**9],
    sparse_bits=[18, 20, 22, 24],
    sparse_curve=200_000,
    expert_numbers=[10**2, 10**3, 10**4, 10**5],
    losses=20_000_000,
)
SIZES = {
    "quick": dataclasses.replace(
        DEFAULT,
        dense={54: 100_000, 90: 60_000},
        sparse=60_000,
        tuples=100_000,
        river=5_000,
        rounds=3,
        steps=[54],
        numbers=[10**6, 10**7],
        sparse_bits=[18, 24],
        sparse_curve=60_000,
        expert_numbers=[10**2, 10**4],
        losses=2_000_000,
    ),
    "default": DEFAULT,
    "full": dataclasses.replace(DEFAULT, numbers=[*DEFAULT.numbers, 10**10]),
}
