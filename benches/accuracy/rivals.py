"""Other private learners for tables: the same budget, the same split, the same public bounds."""

import warnings

import numpy
from diffprivlib.models import LinearRegression, LogisticRegression
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

warnings.filterwarnings("ignore")


def middles(columns):
    """Numbers, with the middle of their bounds where they are missing."""
    for name, values in columns.numbers.items():
        yield name, numpy.where(numpy.isnan(values), sum(columns.bounds[name]) / 2, values)


def raw(columns):
    """Numbers as they are, categories as texts."""
    parts = [values for _, values in middles(columns)]
    parts += [values.astype(str).astype(object) for values in columns.categories.values()]
    return numpy.column_stack([part.astype(object) for part in parts])


def scaled(columns):
    """Numbers in [-1, 1], an indicator for each category: no longer than √columns."""
    parts = []
    for name, values in middles(columns):
        low, high = columns.bounds[name]
        parts.append((2 * (values - low) / (high - low) - 1)[:, None])
    for name, values in columns.categories.items():
        parts.append((values[:, None] == numpy.arange(columns.sizes[name])).astype(float))
    return numpy.hstack(parts)


def ebm(train, test, target_bounds, epsilon, delta, seed):
    """Scores of DP-EBM; its neighbours differ by a record added or removed."""
    types = ["continuous"] * len(train.numbers) + ["nominal"] * len(train.categories)
    common = {
        "feature_types": types,
        "privacy_bounds": dict(enumerate(train.bounds.values())),
        "epsilon": epsilon,
        "delta": delta,
        "random_state": seed,
        "n_jobs": 1,
    }
    if target_bounds:
        low, high = target_bounds
        bounds = {"privacy_target_min": low, "privacy_target_max": high}
        model = DPExplainableBoostingRegressor(**common, **bounds)
        return model.fit(raw(train), train.target).predict(raw(test))
    model = DPExplainableBoostingClassifier(**common).fit(raw(train), train.target)
    return model.decision_function(raw(test))


def diffprivlib(train, test, target_bounds, epsilon, delta, seed):
    """Scores of diffprivlib's linear models. They have no δ: pure privacy is a harder promise."""
    features, others = scaled(train), scaled(test)
    if target_bounds:
        ones = numpy.ones(features.shape[1])
        bounds = {"bounds_X": (-ones, ones), "bounds_y": tuple(target_bounds)}
        model = LinearRegression(epsilon=epsilon, random_state=seed, **bounds)
        return model.fit(features, train.target).predict(others)
    norm = numpy.sqrt(len(train.numbers) + len(train.categories))
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed, max_iter=1000)
    return model.fit(features, train.target).decision_function(others)


RIVALS = {"DP-EBM, add or remove": ebm, "diffprivlib, δ = 0": diffprivlib}
