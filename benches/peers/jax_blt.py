"""Nanoseconds a step of jax-privacy's BLT noise on one vector, compiled, many steps in one call."""

import sys
import time

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz

dimension = int(sys.argv[1])
STEPS = 2000

blt = buffered_toeplitz.optimize(n=1024, min_buffers=4, max_buffers=4)
matrix = blt.inverse_as_streaming_matrix()


@jax.jit
def run(key):
    state = matrix.init_multiply(jnp.zeros(dimension))

    def step(carry, key):
        state, total = carry
        noise = jax.random.normal(key, (dimension,))
        correlated, state = matrix.multiply_next(noise, state)
        return (state, total + correlated), None

    (_, total), _ = jax.lax.scan(step, (state, jnp.zeros(dimension)), jax.random.split(key, STEPS))
    return total


run(jax.random.key(0)).block_until_ready()
start = time.perf_counter()
run(jax.random.key(1)).block_until_ready()
print((time.perf_counter() - start) * 1e9 / STEPS)
