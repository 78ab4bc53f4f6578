"""Private bandits: arms of which one is played."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from hushstream import _input
from hushstream._stream import Stream

__all__ = ["Bandit", "Play"]


class Play(NamedTuple):
    """The arm to play next, and how likely it was."""

    arm: Any
    propensity: float


class Bandit(Stream):
    """Plays arms, and learns from the reward of the played one.

    Parameters
    ----------
    arms : their names, or how many.
    reward_bounds : the smallest and the largest reward, which is clipped to them.
    rounds : how many plays come.
    least_propensity : for :meth:`learn_log` with propensities, the least of them, from what is known
        about the policy that logged; smaller ones are raised to it.
    epsilon, delta, adjacency, ledger, state, resume, seed_insecure, recipe, batch : as for
        :class:`hushstream.Classifier`.

    >>> bandit = Bandit(["red", "blue"], epsilon=8, rounds=300, seed_insecure=1)
    >>> for _ in range(300):
    ...     play = bandit.play()
    ...     bandit.learn(0.9 if play.arm == "blue" else 0.1)
    >>> [arm["arm"] for arm in bandit.estimates_]
    ['red', 'blue']
    """

    def __init__(
        self,
        arms: Iterable[Any] | int,
        *,
        epsilon: float,
        delta: float = 0.0,
        reward_bounds: tuple[float, float] = (0.0, 1.0),
        rounds: int | str,
        least_propensity: float | None = None,
        recipe: str = "auto",
        batch: int | None = None,
        adjacency: str = "replace-one",
        ledger: Any = None,
        state: Any = None,
        resume: bool = False,
        seed_insecure: int | None = None,
    ) -> None:
        self.arms = list(range(arms)) if isinstance(arms, int) else list(arms)
        names = [str(arm) for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError("two arms have the same name: rename one")
        self._bounds = [float(end) for end in reward_bounds]
        self._names = names
        self._least = least_propensity
        self._run = None
        self._is_log = False
        self._played: int | None = None
        self._settings = dict(
            epsilon=epsilon, delta=delta, rounds=rounds, recipe=recipe, batch=batch, adjacency=adjacency,
            ledger=ledger, state=state, resume=resume, seed_insecure=seed_insecure,
        )

    def _open(self, is_log: bool, has_propensities: bool = False) -> None:
        if self._run is not None:
            if self._is_log != is_log:
                raise ValueError("a bandit plays, or learns from a log: make one for each")
            return
        more: dict[str, Any] = {}
        if is_log:
            schema: dict[str, Any] = {
                "task": "bandit", "arms": self._names, "arm": "arm", "target": "reward",
                "target_bounds": self._bounds, "rewards": True, "names": ["arm", "reward"],
            }
            if has_propensities:
                schema.update(propensity="propensity", names=["arm", "reward", "propensity"])
                more["least_propensity"] = self._least
        else:
            schema = {
                "task": "bandit", "names": self._names, "bounds": {"*": self._bounds}, "rewards": True
            }
        self._begin(schema, **self._settings, **more)
        self._is_log = is_log

    def play(self) -> Play:
        """The next arm to play: released, so it may be shown to the next person."""
        self._open(is_log=False)
        shares, propensity = self._run.play()
        self._played = int(np.argmax(shares))
        return Play(self.arms[self._played], float(propensity))

    def learn(self, reward: float) -> None:
        """Learns the reward of the arm that was played last; None if it is not known."""
        if self._played is None:
            raise ValueError("play first: the reward is that of the played arm")
        # Nothing is known of the other arms, and nothing of theirs is looked at.
        row = np.full((1, len(self.arms)), self._bounds[0])
        row[0, self._played] = np.nan if reward is None else float(reward)
        self._run.learn([row], [None] * len(self.arms), None)
        self._played = None

    def learn_log(self, arms: Any, rewards: Any, propensities: Any = None) -> None:
        """Learns from plays of another policy; without propensities all arms were equally likely."""
        has_propensities = propensities is not None
        self._open(is_log=True, has_propensities=has_propensities)
        places = {name: place for place, name in enumerate(self._names)}
        codes = np.array([places.get(str(arm), np.nan) for arm in arms], dtype=np.float64)
        parts = [codes, np.asarray(rewards, dtype=np.float64)]
        texts: list[Any] = [self._names, None]
        if has_propensities:
            parts.append(np.asarray(propensities, dtype=np.float64))
            texts.append(None)
        if any(_input.column(part)[0].shape != codes.shape for part in parts):
            raise ValueError("arms, rewards and propensities have different lengths")
        self._run.learn(parts, texts, None)

    @property
    def estimates_(self) -> list[dict[str, Any]]:
        """Every arm: its probability, its plays, and its reward with a standard error."""
        told = self.model_._native.arms
        return [] if told is None else json.loads(told)
