"""Steps of jax-privacy's BLT noise on one vector, compiled, many steps in one call. usage: jax_blt.py DIMENSION PRECISION

PRECISION of the noise is float32 or float64; the filter itself is in float64, as its documentation asks for.
"""

import sys

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz
from stopwatch import measured

dimension, precision = int(sys.argv[1]), sys.argv[2]
STEPS = 20_000

# Four buffers, as ours; a step takes the same time whatever they hold, so none are searched for.
blt = buffered_toeplitz.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=4)
matrix = blt.inverse_as_streaming_matrix()


@jax.jit
def steps(key):
    state = matrix.init_multiply(jnp.zeros(dimension))

    def step(carry, key):
        state, total = carry
        noise = jax.random.normal(key, (dimension,), dtype=precision)
        correlated, state = matrix.multiply_next(noise, state)
        return (state, total + correlated), None

    (_, total), _ = jax.lax.scan(step, (state, jnp.zeros(dimension)), jax.random.split(key, STEPS))
    return total


def run():
    steps(jax.random.key(1)).block_until_ready()
    return STEPS


# The first call compiles.
steps(jax.random.key(0)).block_until_ready()
measured(run)
