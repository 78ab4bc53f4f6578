"""Steps of tensorflow-privacy's tree aggregation on one vector, as its optimizers call it. usage: tfp_tree.py DIMENSION"""

import sys

import tensorflow as tf
from stopwatch import measured
from tensorflow_privacy.privacy.dp_query import tree_aggregation

dimension = int(sys.argv[1])
STEPS = 100

generator = tree_aggregation.GaussianNoiseGenerator(1.0, tf.TensorSpec([dimension]), seed=1)
tree = tree_aggregation.TreeAggregator(generator)
state = tree.init_state()


def run():
    global state
    for _ in range(STEPS):
        _, state = tree.get_cumsum_and_update(state)
    return STEPS


_, state = tree.get_cumsum_and_update(state)
measured(run)
