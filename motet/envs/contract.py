"""What every environment must keep to, as a check for tests: of ours, of adapters, of yours."""

import pickle
import random
from collections.abc import Iterable
from random import Random

from motet.envs.protocol import Env, Maker, Step

LONGEST = 10_000


def check_env(make: Maker, seeds: Iterable[int] = range(5)) -> None:
    """Play random episodes and look.

    Checked: equal seeds begin and go on equally; making and stepping leave the global generators alone;
    what `sample` gives is legal and can be read back; rewards are finite and belong to seats; returns are
    their sums; stepping a clone leaves the original as it was, and both go on equally; an action that cannot
    be read is data; the end ends acting; the maker pickles.

    Args:
        make: makes an episode from a seed. seeds: episodes to play.

    Raises:
        AssertionError: says what does not hold.
    """
    again = _sent(make)
    for seed in seeds:
        before = _global_state()
        first, second = make(seed), again(seed)
        assert first.state_hash() == second.state_hash(), f"seed {seed} made two different starts"
        assert len(set(first.seats)) == len(first.seats) > 0, (
            f"seats are {first.seats!r}; expected different names"
        )
        assert isinstance(first, Env), f"{type(first).__name__} lacks a method of Env"
        _unread(first.clone())
        # Not Random(seed): a world that draws with the same generator would be guessed at once.
        log = _play(first, Random(f"player {seed}"))
        assert log == _play(second, Random(f"player {seed}")), (
            f"two episodes of seed {seed} went different ways"
        )
        assert _global_state() == before, "the global random generator was used"
        for env in (first, second):
            env.close()
            env.close()


def _sent(make: Maker) -> Maker:
    """The maker as a worker in another process gets it."""
    try:
        sent: Maker = pickle.loads(pickle.dumps(make))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(
            f"{make!r} cannot be sent to another process ({error}); give a class, a function of a module, or "
            f"functools.partial of one"
        ) from error
    return sent


def _play(env: Env, rng: Random) -> list[tuple[object, ...]]:
    """Play at random to the end and return all that was seen."""
    log: list[tuple[object, ...]] = []
    totals = dict.fromkeys(env.seats, 0.0)
    while seats := env.acting():
        assert len(log) < LONGEST, f"{env.name} does not end"
        assert set(seats) <= set(env.seats), f"{seats!r} act, but the seats are {env.seats!r}"
        seen = {seat: env.observe(seat) for seat in seats}
        actions = {seat: env.sample(seat, rng) for seat in seats}
        for seat, action in actions.items():
            legal = seen[seat].legal
            assert legal is None or action in legal, f"sample gave {action!r}, which is not in {legal!r}"
            if isinstance(action, str):
                read = env.read_action(seat, f"Action: {action}")
                assert read is not None, f"{action!r} could not be read back"
        if len(log) & (len(log) - 1) == 0:  # now and then: a clone may cost as much as the whole episode
            _clone_alike(env, actions)
        step = env.step(actions)
        _check_step(env, step, totals)
        log.append((seats, {s: o.digest for s, o in seen.items()}, step.rewards, env.state_hash()))
    assert not env.acting(), "acting() names seats after the end"
    return log


def _clone_alike(env: Env, actions: dict[str, object]) -> None:
    """A step of a clone leaves the original as it was, and does what the original's own step would."""
    before, returns = env.state_hash(), env.returns()
    one, two = env.clone(), env.clone()
    assert one.state_hash() == before, "a clone differs from its original"
    stepped = one.step(actions)
    assert (env.state_hash(), env.returns()) == (before, returns), "stepping a clone changed the original"
    assert two.step(actions).rewards == stepped.rewards, "two clones took the same step differently"
    assert one.state_hash() == two.state_hash(), "two clones took the same step differently"
    for clone in (one, two):
        clone.close()


def _check_step(env: Env, step: Step, totals: dict[str, float]) -> None:
    assert set(step.rewards) <= set(totals), f"rewards {step.rewards!r} for seats {env.seats!r}"
    assert not step.invalid, f"what sample gave was refused: {step.invalid!r}"
    for seat, reward in step.rewards.items():
        assert abs(reward) < float("inf"), f"the reward of {seat} is {reward!r}"
        totals[seat] += reward
    assert step.done == (not env.acting()), "done and acting() disagree"
    found = env.returns()
    assert set(found) == set(totals), f"returns {found!r} for seats {env.seats!r}"
    assert all(abs(found[s] - totals[s]) < 1e-9 for s in totals), (
        f"returns {found!r}, rewards gave {totals!r}"
    )


def _unread(env: Env) -> None:
    """An action that nobody could read is refused as data, and refusing goes on to an end or to a retry."""
    seats = env.acting()
    step = env.step(dict.fromkeys(seats))
    assert set(step.invalid) == set(seats), f"None was taken as an action: invalid is {step.invalid!r}"
    env.close()


def _global_state() -> tuple[object, ...]:
    import numpy

    return random.getstate(), str(numpy.random.get_state(legacy=False))
