"""Knowledge from outside: what is found, kept, cited, handed on, and what that does to the answer."""

import asyncio
import json
import re
from collections.abc import Callable
from math import inf, log
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import accuracy, edges, is_right, noise, play, play_all, said_to, says

from motet import Run, Task
from motet.errors import BadInput
from motet.methods import METHODS, chain_of_agents, ext_agents, hm_rag, main_rag, memory, ragenta, retrieve
from motet.methods.retrieve.corpus import Corpus, best, documents_of, min_max
from motet.methods.retrieve.ext_agents import ranks
from motet.methods.retrieve.main_rag import judge_bar, log_odds
from motet.methods.retrieve.sources import Graph, Pages
from motet.methods.retrieve.window import chunks, fitting
from motet.models.rule import Rule
from motet.tape.keys import digest
from motet.types import FailureKind, Linked

FAILS = "sim:fail=1"
ANSWER = "Answer: unknown"


def luck(*words: str) -> float:
    return Random(digest(*words)).random()


# Documents, and how they are ranked


def test_documents_come_with_the_task_or_as_a_knob() -> None:
    task = Task("?", meta={"documents": ["of the task"]})
    assert documents_of(task) == ["of the task"] and documents_of(task, ["given"]) == ["given"]
    assert documents_of(Task("?")) == []
    for bad in ("one text", 3, {"a": "b"}):
        with pytest.raises(BadInput, match=r"task.meta\['documents'\]=.*expected a list"):
            documents_of(Task("?", meta={"documents": bad}))


WRONG = [
    ("documents", ["a", None], "[1]=None: expected a text"),
    ("observations", [7], "[0]=7: expected a text"),
    ("pages", ["a", ("b", None)], "[1][1]=None: expected a text"),
    ("pages", [None], "[0]=None: expected a text or a list of 2"),
    ("triples", [("a", "b", "c"), ("a", "b")], "[1]=('a', 'b'): expected a list of 3"),
]


@pytest.mark.parametrize("name", ["agent4debate", *retrieve.METHODS, *memory.METHODS])
@pytest.mark.parametrize(("key", "given", "said"), WRONG)
def test_a_wrong_element_of_a_source_is_named(name: str, key: str, given: list[Any], said: str) -> None:
    team = METHODS[name].team
    if key not in team.knobs:
        return
    with pytest.raises(BadInput, match=f"^{re.escape(key + said)}"):
        team.configured(**{key: given})
    task = Task("?", meta={key: given})
    with pytest.raises(BadInput, match=f"^{re.escape(f'task.meta[{key!r}]{said}')}"):
        play(team.cast(says(1)), task)


def test_a_fusion_finds_what_either_ranking_alone_misses() -> None:
    animals = ["otters", "herons", "badgers", "weasels", "newts", "ravens", "beavers", "lizards"]
    texts = [f"{name.capitalize()} are seen at dusk by the river." for name in animals]
    texts += [f"Form {i}Q: see the shelf." for i in range(10, 18)]
    inflected = [(f"One {name[:-1]}like thing", i) for i, name in enumerate(animals)]
    exact = [(f"form {i}q {i + 1}z {i + 1}y {i + 1}w shelves shelving", i - 2) for i in range(10, 18)]
    corpus = Corpus(texts)

    def recall(scores: Callable[[str], list[float]]) -> float:
        hits = [wanted in best(scores(query), 1) for query, wanted in inflected + exact]
        return sum(hits) / len(hits)

    fused = recall(lambda query: corpus.hybrid(query, 0.7))
    assert fused > recall(corpus.sparse) and fused >= recall(corpus.dense)
    assert corpus.hybrid("form 12Q", 0) == min_max(corpus.sparse("form 12Q"))
    assert corpus.hybrid("form 12Q", 1) == min_max(corpus.dense("form 12Q"))
    assert Corpus([]).hybrid("?", 0.5) == [] and min_max([2, 2], 0.5) == [0.5, 0.5]


@given(st.lists(st.text("ab ", max_size=20), max_size=8), st.integers(1, 9))
def test_chunks_keep_all_words_in_order_and_fit(texts: list[str], size: int) -> None:
    packed = chunks(texts, size)
    assert " ".join(packed).split() == " ".join(texts).split()
    assert all(0 < len(chunk.split()) <= size for chunk in packed)


def test_chunks_keep_lines_and_borders_and_cut_what_has_no_spaces() -> None:
    code = "def f(x):\n    if x:\n        return 1\n    return 2"
    assert chunks([code, "A\tb.\n\nC."], 99) == [f"{code}\n\nA\tb.\n\nC."]
    assert chunks([code, "A b."], 5) == ["def f(x):\n    if x:\n        return", "1\n    return 2\n\nA b."]
    unspaced = "川" * 100
    assert "".join(chunks([unspaced], 2)) == unspaced and len(chunks([unspaced], 2)) == 3
    (cut, *rest) = fitting([Linked("    one\n  two three"), Linked("four")], 2)
    assert cut.text == "    one\n  two" and not rest


# MAIN-RAG: true statements among rumours

CLAIM = re.compile(r"capital of (\w+) is (\w+)")


def country(i: int, rumours: int) -> Task:
    shelf = [f"Atlas: the capital of land{i} is town{i}.", f"Gazette: the capital of land{i} is town{i}."]
    shelf += [f"Rumour {j}: the capital of land{i} is fake{i}." for j in range(rumours)]
    shelf += [f"Atlas: the capital of land{i + j + 1} is town{i + j + 1}." for j in range(3)]
    Random(i).shuffle(shelf)
    prompt = f"What is the capital of land{i}?"
    return Task(prompt, target=f"town{i}", meta={"documents": shelf})


def reads(said: str) -> str:
    """Gives the town that most of the documents it is shown name for the land in question."""
    land = re.findall(r"capital of (\w+)\?", said)[-1]
    towns = [town for name, town in CLAIM.findall(said) if name == land]
    return f"Answer: {max(dict.fromkeys(towns), key=towns.count)}" if towns else ANSWER


def judges(skill: float) -> Callable[[str], str]:
    """Tells rumours and lands that were not asked for from facts, right with probability `skill`."""

    def judge(said: str) -> str:
        useful = "Rumour" not in said and "Answer: unknown" not in said
        seen = useful if luck(said) < skill else not useful
        return json.dumps({"yes": 0.7 + 0.25 * luck("yes", said) if seen else 0.3 * luck("no", said)})

    return judge


def test_tau_is_the_mean_less_n_deviations() -> None:
    assert log_odds(0.5) == 0 and log_odds(0.8) == pytest.approx(log(0.8) - log(0.2))
    assert log_odds(1) == -log_odds(0) == pytest.approx(log(99))
    assert judge_bar([1, 2, 3, 6], 0) == 3
    assert judge_bar([1, 2, 3, 6], 0.5) == pytest.approx(3 - 0.5 * 3.5**0.5)
    assert judge_bar([0.1] * 3, 0) == 0.1, "of equal documents all are kept"
    for n in (-1.0, inf):
        for team in (main_rag(n=n), ragenta(n=n)):
            with pytest.raises(BadInput, match=f"n={n}"):
                play(team.cast(says(1)), country(0, 1))


def test_each_document_is_answered_from_and_judged_by_itself_and_the_best_come_first() -> None:
    team = main_rag(k=4).cast(
        predictor=reads,
        judge=lambda said: json.dumps({"yes": 0.9 if "Gazette" in said else 0.8 if "Atlas" in said else 0.1}),
        final_predictor=reads,
    )
    run = play(team, country(5, 2))
    voices = {call.id: call.voice for call in run.calls}
    assert sorted(voices.values()) == ["final_predictor"] + ["judge"] * 4 + ["predictor"] * 4
    assert all(len(CLAIM.findall(said)) == 1 for said in said_to(run, "predictor"))
    read = [parents for voice, parents in edges(run) if voice == "judge"]
    assert sorted(read) == [(i,) for i, voice in voices.items() if voice == "predictor"]
    (final,) = said_to(run, "final_predictor")
    assert final.index("[1] Gazette") < final.index("[2] Atlas") and "Rumour" not in final
    assert len(edges(run)[-1][1]) == 4, "two documents, each with its answer and its verdict"
    assert run.answer == "Answer: town5"


def test_no_judge_waits_for_the_answer_from_another_document() -> None:
    judged = asyncio.Event()

    async def predict(said: str) -> str:
        if "Rumour" in said:  # the slowest: until a judge has spoken
            await asyncio.wait_for(judged.wait(), 1)
        return reads(said)

    def judge(_: str) -> str:
        judged.set()
        return '{"yes": 0.5}'

    team = main_rag(k=3).cast(predictor=Rule(predict), judge=judge, final_predictor=reads)
    assert play(team, country(3, 1)).ok


def test_the_filter_lifts_accuracy_the_more_the_more_noise_there_is() -> None:
    gains, many = [], 24
    for rumours in (0, 2, 4):
        tasks = [country(i, rumours) for i in range(many)]
        plain = play_all(main_rag(k=9).cast(reads, judge=lambda _: '{"yes": 0.5}'), tasks)
        filtered = play_all(main_rag(k=9).cast(reads, judge=judges(0.9)), tasks)
        gains.append((sum(map(is_right, filtered)) - sum(map(is_right, plain))) / many)
    assert gains[0] <= 0 and gains[0] >= -noise(0.9, many), "nothing to filter, nothing to gain"
    assert gains[2] > 0.6 and gains[2] >= gains[1]

    kept = [said_to(run, "final_predictor")[0] for run in filtered]
    true = [said.count(f"town{i}.") for i, said in enumerate(kept)]
    rumoured = sum(said.count("Rumour") for said in kept)
    assert sum(map(bool, true)) / many > 0.9, "recall"
    assert sum(true) / (sum(true) + rumoured) > 0.6 > 2 / 6, "precision, against that of what was found"


def test_a_wider_bar_keeps_more() -> None:
    tasks = [country(i, 3) for i in range(10)]
    sizes = [
        sum(len(CLAIM.findall(said_to(run, "final_predictor")[0])) for run in runs)
        for runs in (play_all(main_rag(k=8, n=n).cast(reads, judge=judges(0.9)), tasks) for n in (0, 1, 3))
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] == 80


def test_main_rag_goes_on_without_those_that_fail() -> None:
    task = country(1, 0)
    plain = play(main_rag(k=5).cast(reads, judge=FAILS), task)
    assert len(CLAIM.findall(said_to(plain, "final_predictor")[0])) == 5, "unjudged, all are kept"
    last = play(main_rag(k=5).cast(reads, judge=judges(1), final_predictor=FAILS), task)
    assert last.answer == "Answer: town1"
    assert play(main_rag.cast(says(7)), Task("Seven?", target="7")).answer == "Answer: 7"


# RAGentA

LIFE = [
    "Ada wrote the first program.",
    "Ada was born in London.",
    "Bread is baked at night.",
    "The program computed Bernoulli numbers.",
    "London lies on the Thames.",
]


def cites(said: str) -> str:
    """Repeats each document with its number, and one sentence that nothing bears out."""
    shown = re.findall(r"^\[(\d+)\] (.+)$", said, re.MULTILINE)
    sentences = [{"text": text, "documents": [int(i), int(i)]} for i, text in shown]
    loose = {"text": "I just know it.", "documents": []}
    return json.dumps({"sentences": [*sentences, loose], "answer": "all of it"})


def attributes(**changes: Any) -> Any:
    check = {"remove": [], "complete": True, "questions": []} | changes
    likes = lambda said: json.dumps({"yes": 0.1 if "Bread" in said else 0.9})  # noqa: E731
    return ragenta(k=2, documents=LIFE).cast(
        says("x"), judge=likes, generator=cites, checker=lambda _: json.dumps(check)
    )


def test_every_sentence_names_a_document_that_was_kept() -> None:
    run = play(attributes(), Task("What did Ada write, and where was she born?"))
    lines = run.answer.splitlines()
    shown = dict(re.findall(r"^\[(\d)\] (.+)$", said_to(run, "generator")[0], re.MULTILINE))
    assert lines == [f"{text} [{i}]" for i, text in shown.items()] + ["Answer: all of it"]
    assert set(shown.values()) == set(LIFE[:2])
    voices = [v for v, _ in edges(run)]
    assert sorted(voices[:4]) == ["judge"] * 2 + ["predictor"] * 2 and voices[4:] == ["generator", "checker"]
    trimmed = play(attributes(remove=[1]), Task("What did Ada write, and where was she born?"))
    assert trimmed.answer.splitlines() == lines[1:]


def test_what_is_left_open_is_looked_up_again() -> None:
    open_part = {"complete": False, "questions": ["Bernoulli numbers program", "Thames", "More?"]}
    task = Task("What did Ada write, and where was she born?")
    run = play(attributes(**open_part), task)
    first, *follow_ups, joined = said_to(run, "generator")
    assert len(follow_ups) == 2, "as many as m"
    assert "[3] The program computed Bernoulli numbers." in follow_ups[0]
    assert all(text not in follow_up for text in LIFE[:2] for follow_up in follow_ups), "nothing twice"
    assert "computed" not in first and all(text in joined for text in LIFE)
    assert "The program computed Bernoulli numbers. [3]" in run.answer
    assert sorted(edges(run)[-1][1]) == list("12345678"), "made from all that was said"
    assert len(said_to(play(attributes(**open_part | {"complete": True}), task), "generator")) == 1
    nothing_new = attributes(**open_part).cast(judge=lambda _: '{"yes": 0.9}')(k=5)
    assert len(said_to(play(nothing_new, task), "generator")) == 1, "all documents are on the desk"


def test_ragenta_falls_back_to_the_answer_that_it_has() -> None:
    task = Task("What did Ada write?")
    assert "Answer: all of it" in play(attributes().cast(checker=FAILS), task).answer
    assert play(attributes().cast(generator=FAILS), task).error is not None


# HM-RAG: each fact is in one source alone

SOURCES: dict[str, Any] = {
    "documents": ["Noon is when the museum opens.", "Ann works with Cyd.", "Cyd lives in Oslo."],
    "pages": [("Boats", "The ferry to the island costs 9 crowns."), ("Tea", "Tea is drunk hot.")],
}
QUIZ = {
    "When does the museum open?": ("noon", "noon"),
    "What does the ferry cost?": ("9 crowns", "9 crowns"),
    "In which town is the one that Ann works with?": ("Oslo", "Ann works with Cyd"),
}


def looks_up(said: str) -> str:
    """Gives the answer if the passages that it is shown hold the fact; the expert does so for all sources."""
    answer, _ = next(known for question, known in QUIZ.items() if question in said)
    found = said.partition("Question:")[0] if "Answer from it" not in said else said
    return f"Answer: {answer}" if answer.lower() in found.lower() else ANSWER


def asks(*questions: str) -> Callable[[str], str]:
    return lambda _: json.dumps({"questions": list(questions)})


def quiz() -> list[Task]:
    return [Task(question, target=known[0], meta=SOURCES) for question, known in QUIZ.items()]


def echo(said: str) -> str:
    return json.dumps({"questions": [said.split("\n")[1]]})


def test_the_graph_walks_from_entity_to_entity() -> None:
    graph = Graph.of(SOURCES["documents"], hops=2)
    assert graph.find("Where is Ann?", 5) == ["Ann – works with – Cyd", "Cyd – lives in – Oslo"]
    graph = Graph.of(["Ann has as many keys as Cyd. Cyd has 3 keys.", "The Oslo tram is blue."], hops=2)
    assert [tuple(t) for t in graph.triples][1] == ("Cyd", "has", "3 keys")
    assert graph.find("How many keys has Ann?", 9) == [
        "Ann – has as many keys as – Cyd",
        "Cyd – has – 3 keys",
    ]
    assert Graph(graph.triples, hops=1).find("ann", 9) == ["Ann – has as many keys as – Cyd"]
    assert graph.find("oslo TRAM", 9) == ["The Oslo tram – is – blue"] and graph.find("nobody", 9) == []


def test_the_web_gives_titles_and_excerpts() -> None:
    web = Pages([("Boats", "x " * 400 + "The ferry leaves."), "Tea\nTea is drunk hot."], characters=60)
    (hit,) = web.find("ferry", 3)
    assert hit.startswith("Boats: …") and "ferry" in hit and len(hit) < 80
    assert web.find("hot tea", 3) == ["Tea: Tea is drunk hot."] and web.find("zebra", 3) == []
    with pytest.raises(BadInput, match=r"pages\[0\]=\('a', 'b', 'c'\)"):
        play(hm_rag(pages=[("a", "b", "c")]).cast(says(1)), Task("?"))
    with pytest.raises(BadInput, match=r"triples\[0\]"):
        play(hm_rag(triples=[("a", "b")]).cast(says(1)), Task("?"))


def test_three_sources_together_answer_what_each_alone_misses() -> None:
    graph = [("Ann", "works with", "Cyd"), ("Cyd", "lives in", "Oslo")]
    cast = {"decomposer": echo, "expert": looks_up}
    full = hm_rag(triples=graph, documents=SOURCES["documents"][:1]).cast(looks_up, **cast)
    assert accuracy(full, quiz()) == 1
    for alone in ("vector", "graph", "web"):
        others = dict.fromkeys({"vector", "graph", "web"} - {alone}, says("unknown"))
        blind = full.cast(expert=says("unknown"), **others)
        assert accuracy(blind.cast(**{alone: looks_up})(threshold=0.3), quiz()) == pytest.approx(1 / 3)


def test_the_expert_is_called_on_disagreement_alone() -> None:
    task = Task("Which?", target="a")
    agree = play(hm_rag.cast(asks("One?", "Two?"), vector=says("a"), graph=says("b"), web=says("A")), task)
    assert [v for v, _ in edges(agree)] == ["decomposer", "vector", "graph", "web"] and agree.answer == "a"
    split = hm_rag.cast(vector=says("a"), graph=says("b"), web=says("c"), decomposer=asks("One?"))
    run = play(split.cast(expert=says("b")), task)
    assert edges(run)[-1] == ("expert", ("1", "2", "3", "4")) and run.answer == "Answer: b"
    assert play(split.cast(expert=FAILS), task).answer == "a"
    shy = split.cast(graph=says("unknown"), web=says("unknown"), expert=says("a"))
    assert "expert" in [v for v, _ in edges(play(shy, task))], "not knowing is no vote"
    assert play(split.cast(says("d"), decomposer=FAILS, expert=says("d")), task).ok


# Reading more than a window holds


def hunt(i: int, gap: int) -> Task:
    """Where is the box? Two facts with `gap` documents of something else between and around them."""
    filler = [f"Line {j} of story {i} is about weather and wind." for j in range(3 * gap)]
    filler.insert(2 * gap, f"person{i} is in room{i} today as always.")
    filler.insert(gap, f"The box{i} is with person{i} since last week.")
    if i % 2:  # half the time the second fact stands before the first
        filler.reverse()
    return Task(f"Where is box{i}?", target=f"room{i}", meta={"documents": filler})


FACT = re.compile(r"The (box\d+) is with (person\d+)|(person\d+) is in (room\d+)")


def knows(said: str) -> dict[str, str]:
    return {(a or c): (b or d) for a, b, c, d in FACT.findall(said)}


def follows(said: str) -> str:
    """Answers when both facts are in view."""
    facts = knows(said)
    holder = facts.get(re.findall(r"Where is (box\d+)", said)[-1], "")
    if place := facts.get(holder):
        return f"Answer: {place}"
    return "NO ANSWER" if "NO ANSWER" in said else ANSWER


def seeks(said: str) -> str:
    """Reports the fact in its part that bears on the question or on what was found elsewhere, and once."""
    part, _, rest = said.partition("What was found in all parts")
    scratchpad = rest.partition("Question:")[0]
    hits = [m[0] for m in FACT.finditer(part) if (m[1] or m[3]) in rest]
    new = [hit for hit in hits if hit not in scratchpad]
    lines = "Nothing in lines " + ", ".join(re.findall(r"Line (\d+)", part))
    words = ". ".join(new) or ("Nothing new here." if hits else lines)
    return json.dumps({"message": words, "relevance": 0.9 if new else 0.1 * luck(said)})


def carries(said: str) -> str:
    """Hands on facts about the thing in question, or about what the summary names."""
    facts = FACT.finditer(said)
    return "So far: " + ". ".join(m[0] for m in facts if m[1] or m[3] in said.partition("Summary")[2])


def test_a_chain_hands_on_one_unit_after_the_other() -> None:
    run = play(chain_of_agents(n=3, k=60).cast(workers=carries, manager=follows), hunt(2, 3))
    assert edges(run) == [
        *[("workers_1", ()), ("workers_2", ("1",)), ("workers_3", ("2",)), ("manager", ("3",))]
    ]
    far = [hunt(2 * i, 6) for i in range(8)]
    reader = chain_of_agents(k=60).cast(workers=carries, manager=follows)
    assert accuracy(reader, far) == 1, "far apart, the facts meet in the unit"
    assert accuracy(reader(n=1), far) == 0, "one window does not hold both"


def shown_words(run: Run) -> list[int]:
    """How many words each call was shown besides the question, headings of the prompt included."""
    prompts = [run.tape.path(call.prompt)[-1].text for call in run.calls]
    return [len(prompt.partition("Question:")[0].split()) for prompt in prompts]


def test_no_reader_of_a_chain_sees_more_than_its_window_however_long_a_unit_is() -> None:
    wordy = lambda said: carries(said) + " and so on" * 200  # noqa: E731
    run = play(chain_of_agents(k=60).cast(workers=wordy, manager=follows), hunt(2, 6))
    assert len(run.calls) > 4 and max(shown_words(run)) <= 60 + 17, (
        "the window, and the headings of the prompt"
    )
    assert run.answer == "Answer: room2"
    broken = play(chain_of_agents(k=60).cast(workers=wordy, manager=FAILS), hunt(2, 6))
    assert broken.answer.endswith("and so on"), "what stands as the answer is not cut"


def test_a_worker_that_fails_hands_on_what_it_was_given() -> None:
    crew = [carries, FAILS, carries]
    run = play(chain_of_agents(n=3, k=60).cast(workers=crew, manager=follows), hunt(2, 3))
    assert [parents for _, parents in edges(run)] == [(), ("1",), ("1",), ("3",)]
    last = play(chain_of_agents(n=3, k=60).cast(workers=says("room2"), manager=FAILS), hunt(2, 3))
    assert last.answer == "Answer: room2"


def test_accuracy_grows_with_what_is_read_when_the_readers_share_what_they_found() -> None:
    tasks = [hunt(i, 4 + i % 5) for i in range(20)]
    team = ext_agents(w=60).cast(seekers=seeks, reasoner=follows)
    grown = [accuracy(team(n=n), tasks) for n in (1, 4, 16)]
    assert grown[0] < grown[1] < grown[2] == 1
    map_reduce = accuracy(team(n=16, T=1), tasks)
    assert map_reduce == 0, "without the scratchpad nobody knows that the second fact matters"
    for run in play_all(team(n=16), tasks[:3]):
        assert max(shown_words(run)) <= 60 + 17, "the window, and the headings of the prompt"


def test_seekers_go_together_and_the_reasoner_sees_more_and_more() -> None:
    busy = {"now": 0, "peak": 0}

    async def seek(said: str) -> str:
        busy["now"] += 1
        busy["peak"] = max(busy["peak"], busy["now"])
        await asyncio.sleep(0)
        busy["now"] -= 1
        return seeks(said)

    run = play(ext_agents(n=6, w=40, T=2).cast(seekers=Rule(seek), reasoner=stubborn), hunt(4, 6))
    assert busy["peak"] == 6
    read = [len(parents) for voice, parents in edges(run) if voice == "reasoner"]
    assert read == [1, 2, 4, 6, 7] and list(ranks(0)) == [0] and list(ranks(1)) == [1]
    second = [parents for voice, parents in edges(run) if voice.startswith("seekers")][6:]
    assert len(set(second)) == 1 and len(second[0]) > 1, "all see the same scratchpad"
    assert "is with person4" in said_to(run, "reasoner")[0], "the most relevant comes first"
    assert run.answer == "Answer: x"
    broken = play(ext_agents(n=6, w=40).cast(seekers=seeks, reasoner=FAILS), hunt(4, 6))
    assert "is with person4" in broken.answer


def stubborn(said: str) -> str:
    return "NO ANSWER" if "NO ANSWER" in said else "Answer: x"


def test_what_was_found_is_kept_when_its_finder_fails_or_is_silent_in_the_next_round() -> None:
    def fails_later(said: str) -> str:
        return "no JSON" if "(nothing was found)" not in said else seeks(said)

    def silent_later(said: str) -> str:
        return '{"message": " ", "relevance": 1}' if "(nothing was found)" not in said else seeks(said)

    for seeker in (seeks, fails_later, silent_later):
        run = play(ext_agents(n=6, w=60).cast(seekers=seeker, reasoner=stubborn), hunt(4, 4))
        last = said_to(run, "reasoner")[-1]
        assert "The box4 is with person4" in last and last.count("box4 is with") == 1
    lost = play(
        ext_agents(n=6, w=60).cast(lambda _: '{"message": "", "relevance": 1}', reasoner=FAILS), hunt(4, 4)
    )
    assert lost.error and lost.error.kind is FailureKind.SERVER, "empty messages are no answer"


@pytest.mark.parametrize(
    ("said", "gives_up"),
    [
        ("NO ANSWER", True),
        ("**No answer.**", True),
        ("Answer: NO ANSWER", True),
        ("<think>Is it there?</think>\nNO ANSWER", True),
        ("\\boxed{\\text{No answer}}", True),
        ("The first note gives no answer, but the second does.\nAnswer: room", False),
        ("No answer could be plainer: room.", False),
    ],
)
def test_only_no_answer_and_nothing_else_is_none(said: str, gives_up: bool) -> None:
    run = play(ext_agents(n=4, w=60).cast(seekers=seeks, reasoner=lambda _: said), hunt(4, 4))
    assert len(said_to(run, "reasoner")) == (4 if gives_up else 1)


def test_the_reasoner_is_never_asked_twice_about_the_same() -> None:
    long = lambda said: json.dumps({"message": said[:400] + " and" * 30, "relevance": luck(said)})  # noqa: E731
    for w, T in ((20, 1), (20, 3), (50, 3)):
        run = play(ext_agents(n=8, w=w, T=T).cast(seekers=long, reasoner=stubborn), hunt(4, 9))
        asked = said_to(run, "reasoner")
        assert len(set(asked)) == len(asked) and "NO ANSWER" not in asked[-1]
