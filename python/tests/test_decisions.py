"""Experts and bandits: the program's releases, and what they may not do."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from hushstream import Accountant, Bandit, Experts, HushstreamError, audit, compare, load_model

SEEDED = dict(epsilon=2, delta=1e-6, seed_insecure=5)


def test_experts_release_what_the_program_does(program, tmp_path):
    losses = np.random.default_rng(3).uniform(0, 1, (500, 4)) * [1, 0.5, 1, 1]
    pd.DataFrame(losses, columns=list("abcd")).to_csv(tmp_path / "losses.csv", index=False)
    told = json.loads(
        program(
            "learn", tmp_path / "losses.csv", "--task", "experts", "--bounds", "*=0:1", "--epsilon", 2,
            "--delta", 1e-6, "--seed-insecure", 5, "--model", tmp_path / "model.json", "--json",
        )
    )
    experts = Experts(4, rounds=500, **SEEDED)
    experts.learn_many(losses[:300])
    for row in losses[300:]:
        experts.learn(row)
    assert experts.records_ == 500
    expected = load_model(tmp_path / "model.json")
    assert experts.weights_.tolist() == expected.weights.tolist()
    assert experts.model_.recipe == told["recipe"]
    assert 0 <= experts.choose(seed=1) < 4
    with pytest.raises(ValueError, match="4 experts"):
        experts.learn_many(losses[:, :3])
    with pytest.raises(TypeError, match="it has a key"):
        pickle.dumps(experts)


def test_a_bandit_plays_and_learns(tmp_path):
    bandit = Bandit(["red", "green", "blue"], rounds=400, epsilon=20, seed_insecure=5)
    with pytest.raises(ValueError, match="play first"):
        bandit.learn(1.0)
    plays = []
    for _ in range(400):
        play = bandit.play()
        assert 0 < play.propensity <= 1
        plays.append(play.arm)
        bandit.learn(0.9 if play.arm == "blue" else 0.1)
    assert bandit.records_ == 400 and set(plays) <= {"red", "green", "blue"}
    assert plays[200:].count("blue") > plays[:100].count("blue")
    assert {arm["arm"] for arm in bandit.estimates_} == {"red", "green", "blue"}
    with pytest.raises(ValueError, match="or learns from a log"):
        bandit.learn_log(["red"], [1.0])
    with pytest.raises(HushstreamError, match="ledger="):
        Bandit(3, rounds=10, epsilon=1).play()


def test_a_log_is_read_as_the_program_reads_it(program, tmp_path):
    draw = np.random.default_rng(0)
    arms, rewards = draw.choice(["a", "b"], 300), draw.uniform(0, 1, 300).round(3)
    chances = np.where(arms == "a", 0.75, 0.25)
    frame = pd.DataFrame({"arm": arms, "reward": rewards, "propensity": chances})
    frame.to_csv(tmp_path / "log.csv", index=False)
    program(
        "learn", tmp_path / "log.csv", "--task", "bandit", "--arm", "arm", "--arms", "a,b", "--target",
        "reward", "--target-bounds", "0:1", "--rewards", "--propensity", "propensity",
        "--least-propensity", 0.25, "--epsilon", 2, "--seed-insecure", 5, "--model",
        tmp_path / "model.json", "--json",
    )
    bandit = Bandit(["a", "b"], rounds=300, epsilon=2, least_propensity=0.25, seed_insecure=5)
    bandit.learn_log(arms, rewards, chances)
    expected = load_model(tmp_path / "model.json")
    assert bandit.model_.weights.tolist() == expected.weights.tolist()
    assert bandit.estimates_ == json.loads(expected._native.arms)


def test_a_planted_claim_is_refuted_and_an_honest_one_is_not():
    told = audit("pftal", epsilon=8, delta=1e-5, runs=1000)
    assert not told.violated and 0 < told.lower_bound["epsilon"] < 8
    assert "not refuted" in repr(told)
    with pytest.raises(HushstreamError):
        audit("no such recipe")
    [row] = compare("ftrl", rounds=128, repeats=2)
    assert len(row["regrets"]) == 2


def test_the_accountant_agrees_with_known_values():
    one = Accountant()
    one.spend(mu=1.0)
    # δ of 1-GDP at ε = 1, to the last digits: Φ(−1/2) − e·Φ(−3/2).
    assert 0.126936737 < one.delta(1.0) < 0.126936738
    many = Accountant()
    many.spend(mu=0.5, times=4)
    assert many.epsilon(1e-6) == pytest.approx(one.epsilon(1e-6), rel=1e-9)
    pure = Accountant()
    pure.spend(epsilon=0.25, times=4)
    assert 1.0 <= pure.epsilon(0.0) < 1.0 + 1e-9 and pure.fits(1.1, 0.0)
    with pytest.raises(ValueError, match="one charge"):
        pure.spend(mu=1.0, rho=1.0)
