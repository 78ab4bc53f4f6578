"""Nanoseconds a step of tensorflow-privacy's tree aggregation on one vector."""

import sys
import time

import tensorflow as tf
from tensorflow_privacy.privacy.dp_query import tree_aggregation

dimension = int(sys.argv[1])
STEPS = 100

generator = tree_aggregation.GaussianNoiseGenerator(1.0, tf.TensorSpec([dimension]), seed=1)
tree = tree_aggregation.TreeAggregator(generator)
state = tree.init_state()
value, state = tree.get_cumsum_and_update(state)
start = time.perf_counter()
for _ in range(STEPS):
    value, state = tree.get_cumsum_and_update(state)
print((time.perf_counter() - start) * 1e9 / STEPS)
