"""The built-in worlds: the contract, the perfect players, and what is special about each."""

import pickle
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.envs import ENVS, EnvSpec, Illegal, World, check_env, make
from motet.envs.actions import free, pick
from motet.envs.help_desk import CancelOrder, Done, use
from motet.envs.maze import Maze, way
from motet.envs.positions import Graph
from motet.envs.text_to_sql import same_rows
from motet.envs.twenty_four import evaluate, solve
from motet.errors import BadInput, UnknownName

SOLVED = [name for name, info in ENVS.items() if info.perfect in ("oracle", "solver", "halving")]


def perfect_returns(name: str, seed: int, **options: Any) -> dict[str, float]:
    env, rng = make(name, seed, **options), Random(f"perfect {seed}")
    assert isinstance(env, World)
    while seats := env.acting():
        step = env.step({seat: env.perfect(seat, rng) for seat in seats})
        assert not step.invalid
    return env.returns()


@pytest.mark.parametrize("name", ENVS)
def test_every_world_keeps_the_contract(name: str) -> None:
    check_env(EnvSpec(name), range(3))
    assert make(name).seats == ENVS[name].seats


@pytest.mark.parametrize("options", [{"customer_seat": True}, {"steps": 3}])
def test_options_keep_the_contract(options: dict[str, Any]) -> None:
    check_env(EnvSpec("help_desk", options), range(3))


@pytest.mark.parametrize("name", SOLVED)
def test_the_task_can_be_done(name: str) -> None:
    for seed in range(12):
        assert set(perfect_returns(name, seed).values()) == {1.0}, seed


def test_perfect_tic_tac_toe_draws_and_never_loses() -> None:
    for seed in range(8):
        assert perfect_returns("tic_tac_toe", seed) == {"x": 0.0, "o": 0.0}
        env, rng = make("tic_tac_toe", seed), Random(seed)
        assert isinstance(env, World)
        while seats := env.acting():
            seat = seats[0]
            env.step({seat: env.perfect(seat, rng) if seat == "o" else env.sample(seat, rng)})
        assert env.returns()["o"] >= 0


def test_different_seeds_start_differently() -> None:
    for name in ("household", "shop", "help_desk", "text_to_sql", "search_qa", "maze", "twenty_four", "kuhn"):
        assert len({make(name, seed).state_hash() for seed in range(20)}) >= 5, name


def test_starts_of_listed_deals_have_their_probabilities() -> None:
    graph = Graph(make("leduc").rules)  # type: ignore[attr-defined]
    pairs = sum(len(set(graph.start(seed).state.cards[:2])) == 1 for seed in range(20_000))
    assert abs(pairs / 20_000 - 1 / 5) < 0.01  # the second of five cards makes a pair once in five


def test_an_illegal_action_costs_and_then_forfeits() -> None:
    env = make("tic_tac_toe", illegal=Illegal(penalty=0.5, forfeit=2))
    start = env.state_hash()
    first = env.step({"x": "ten"})
    assert first.rewards == {"x": -0.5} and "'ten'" in first.invalid["x"] and not first.done
    assert env.state_hash() == start
    assert env.observe("x").text.startswith("'ten' is not a legal action.")
    last = env.clone().step({"x": None})
    assert last.done and last.rewards == {"x": -1.5, "o": 1.0} and last.info == {"forfeit": ["x"]}
    env.step({"x": "5"})
    assert not env.observe("o").text.startswith("'ten'")
    assert not env.step({"o": "5"}).done


def test_step_names_the_seats_it_expected() -> None:
    with pytest.raises(BadInput, match=r"got actions of \['o'\]; expected .*: x"):
        make("tic_tac_toe").step({"o": "1"})
    env = make("matching_pennies")
    with pytest.raises(BadInput, match="row, column"):
        env.step({"row": "heads"})
    env.step({"row": "heads", "column": "tails"})
    with pytest.raises(BadInput, match="the episode is over"):
        env.step({})


def test_wrong_names_and_options_are_told() -> None:
    with pytest.raises(UnknownName, match="did you mean kuhn"):
        make("kuhm")
    with pytest.raises(UnknownName, match="option of maze"):
        make("maze", width=3)
    with pytest.raises(BadInput, match="expected a value of type int"):
        make("maze", size="big")
    for name, options in (("maze", {"size": 2}), ("household", {"things": 50}), ("search_qa", {"hops": 4})):
        with pytest.raises(BadInput):
            make(name, **options)


def test_a_spec_pickles_and_makes_the_same() -> None:
    spec = EnvSpec("maze", {"size": 5})
    again = pickle.loads(pickle.dumps(spec))
    assert again(4).state_hash() == spec(4).state_hash() != spec(5).state_hash()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Action: bet", "bet"),
        ("I check. No: [bet]", "bet"),
        (r"\boxed{Check}", "check"),
        ("**Bet!**", "bet"),
        ("I would rather bet here.", "bet"),
        ("check or bet?", None),
        ("Action: raise", None),
        ("", None),
    ],
)
def test_reading_actions(text: str, action: str | None) -> None:
    assert pick(text, ("check", "bet")) == action


def test_the_longer_of_two_names_is_meant() -> None:
    assert pick("please go to shelf 1 now", ("go to shelf 1", "go to shelf 1 now")) == "go to shelf 1 now"
    assert pick("take apple 10", ("take apple 1", "take apple 10")) == "take apple 10"


@given(st.text())
def test_no_text_breaks_a_reader(text: str) -> None:
    assert free(text) is None or free(text).strip()  # type: ignore[union-attr]
    for name in ENVS:
        env = make(name)
        seat = env.acting()[0]
        action = env.read_action(seat, text)
        if action is not None:
            assert not env.step(
                {s: action if s == seat else env.sample(s, Random(0)) for s in env.acting()}
            ).invalid


def test_maze_needs_both() -> None:
    """A pair of which one keeps silent gets nowhere; one player that sees all does."""
    env = make("maze", 3)
    while env.acting():
        seat = env.acting()[0]
        env.step({seat: "move north" if seat == "first" else "I do not know."})
    assert env.returns() == {"first": 0.0, "second": 0.0}
    assert perfect_returns("maze", 3, solo=True) == {"walker": 1.0}
    state = make("maze", 3).state  # type: ignore[attr-defined]
    seen = [make("maze", 3).observe(seat).text for seat in ("first", "second")]
    rules = Maze()
    for row in range(rules.size):
        for column in range(rules.size):
            shown = [rules._cell(state, seat, (row, column)) for seat in rules.seats]
            assert shown.count("?") == (0 if (row, column) in (state.at, state.goal) else 1)
    assert "?" in seen[0] and seen[0] != seen[1] and way(state.grid, state.at, state.goal)


def test_negotiation_pays_by_values() -> None:
    env = make("negotiation", 1)
    pool, values = env.state.pool, env.state.values  # type: ignore[attr-defined]
    assert all(sum(n * v for n, v in zip(pool, own, strict=True)) == 10 for own in values)
    assert env.read_action("first", "keep 9 books, 9 hats, 9 balls") is None
    assert env.read_action("first", "accept") is None  # nothing is proposed yet
    env.step({"first": "All mine: keep {} books, {} hats, {} balls".format(*pool)})
    assert env.clone().step({"second": "accept"}).rewards == {"first": 1.0, "second": 0.0}
    assert env.step({"second": "walk away"}).done and set(env.returns().values()) == {0.0}


def test_twenty_four_is_arithmetic_and_nothing_else() -> None:
    assert solve((1, 1, 1, 1)) is None and evaluate(solve((3, 3, 8, 8)) or "")[0] == 24  # type: ignore[index]
    for text in ("__import__('os')", "2**99", "1/0", "a + 1", "(" * 60, "1.5 + 2", "True + 1", "9" * 99):
        assert evaluate(text) is None
    env = make("twenty_four", 2)
    numbers = env.state.numbers  # type: ignore[attr-defined]
    assert env.read_action("player", " + ".join(map(str, numbers[:3]))) is None
    assert env.step({"player": " + ".join(map(str, numbers))}).invalid == {}


def test_household_states_recur() -> None:
    env = make("household", 0)
    first = env.observe("player").digest
    env.step({"player": "go to shelf 1"})
    there = env.observe("player").digest
    env.step({"player": "go to shelf 2"})
    env.step({"player": "go to shelf 1"})
    assert env.observe("player").digest == there != first


def test_help_desk_is_judged_by_the_database() -> None:
    seeds = {bool(make("help_desk", seed).state.wish.right): seed for seed in range(12)}  # type: ignore[attr-defined]
    done = msgspec.json.encode(Done()).decode()
    for allowed, seed in seeds.items():
        env = make("help_desk", seed)
        assert env.clone().step({"agent": done}).rewards == {"agent": float(not allowed)}
        order = env.state.wish.order  # type: ignore[attr-defined]
        other = 101 if order != 101 else 102
        env.step({"agent": msgspec.json.encode(CancelOrder(other)).decode()})
        assert env.step({"agent": done}).rewards == {"agent": 0.0}
    env = make("help_desk", 1)
    env.step({"agent": '{"tool":"say","text":"Your e-mail, please?"}'})
    assert "@example.com" in env.observe("agent").text
    assert env.read_action("agent", '{"tool":"get_order","order":"x"}') is None
    database = env.state.database  # type: ignore[attr-defined]
    assert use(database, CancelOrder(10**30)) == (database, f"there is no order {10**30}")


def test_text_to_sql_compares_rows_and_only_reads() -> None:
    env = make("text_to_sql", 0)
    database = env.state.database  # type: ignore[attr-defined]
    assert same_rows(database, "SELECT title AS t FROM book ORDER BY id DESC", "SELECT title FROM book")
    assert not same_rows(
        database, "SELECT title FROM book ORDER BY pages", "SELECT title FROM book ORDER BY pages DESC"
    )
    assert not same_rows(database, "SELECT nothing FROM book", "SELECT nothing FROM book")
    assert env.read_action("analyst", "DROP TABLE book") is None
    env.step({"analyst": "SELECT 1; DROP TABLE book"})
    assert "Error" in env.observe("analyst").text and env.state.database == database  # type: ignore[attr-defined]
    assert env.read_action("analyst", "So: ANSWER: ```sql\nSELECT 1;\n```") == "ANSWER: SELECT 1"


def test_search_finds_what_it_asks_for() -> None:
    env = make("search_qa", 0, hops=3)
    chain, answer = env.state.chain, env.state.answer  # type: ignore[attr-defined]
    env.step({"player": f"search: {chain[0]}"})
    assert chain[1] in env.observe("player").text
    assert env.clone().step({"player": f"answer: {answer.upper()}."}).rewards == {"player": 1.0}
    for _ in range(4):
        env.step({"player": "search: nothing"})
    assert env.read_action("player", "search: more") is None and env.read_action("player", "answer: x")


def test_wolves_and_villagers() -> None:
    env = make("social_deduction", 0)
    wolf, seer = env.state.wolf, env.state.seer  # type: ignore[attr-defined]
    villagers = [seat for seat in env.seats if seat not in (wolf, seer)]
    assert set(env.acting()) == {wolf, seer}
    env.step({wolf: villagers[0], seer: wolf})
    assert f"You saw that {wolf} is the wolf." in env.observe(seer).text
    assert "You saw" not in env.observe(villagers[1]).text
    while env.acting() != env.state.alive:  # type: ignore[attr-defined]
        env.step({env.acting()[0]: "Hm."})
    step = env.step({seat: wolf if seat != wolf else seer for seat in env.acting()})
    assert (
        step.done and step.rewards[villagers[0]] == step.rewards[seer] == 1.0 and step.rewards[wolf] == -1.0
    )


def test_positions_that_are_not_kept_play_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that is full goes on as one that has room, and grows no further."""

    def played(graph: Graph[Any]) -> list[Any]:
        told = []
        for seed in range(40):
            world, rng = World(graph, seed), Random(seed)
            while seats := world.acting():
                seat = seats[0]
                seen = world.observe(seat)
                told.append((seen.text, world.step({seat: rng.choice(seen.legal or ())}), world.state_hash()))
            told.append(world.returns())
        return told

    for rules in (make("guess_number").rules, make("tic_tac_toe").rules):  # type: ignore[attr-defined]
        roomy = played(Graph(rules))
        for most, most_moves in ((30, 10**6), (10**6, 25), (0, 0)):
            monkeypatch.setattr("motet.envs.positions.MOST", most)
            monkeypatch.setattr("motet.envs.positions.MOST_MOVES", most_moves)
            graph: Graph[Any] = Graph(rules)
            assert played(graph) == roomy == played(graph)
            assert len(graph._known) <= most and graph._moves <= most_moves
        monkeypatch.undo()
