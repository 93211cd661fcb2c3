import string
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.answers import canonical, extract, gold_reply, instruction, wording
from motet.types import Task

NUMBER, MATH, CODE, WORDS = (Task("?", kind=kind) for kind in ("number", "math", "code", "text"))
MOOD = Task("?", kind="choice", choices=("happy", "not happy", "sad"))
MOVES = Task("?", kind="choice", choices=("Up", "Down"))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("First 3, then 4.\nAnswer: 7", "7"),
        ("**Answer:** **1,000.0** apples", "1000"),
        ("Answer: $-2.50", "-2.5"),
        ("Answer: −5°", "-5"),
        ("Answer: 17 * 23 = 391", "391"),
        ("Answer:\n42", "42"),
        ("Answer: 42 (6 times 7). I took 3 steps.", "42"),
        ("Answer: (5)", "5"),
        ("The final answer is 3/4.", "0.75"),
        ("so \\boxed{\\frac{1}{3}}", "1/3"),
        ("\\boxed{12{,}000}", "12000"),
        ("Natalia sold 48+24 = 72.\n#### 72", "72"),
        ("#### Step 3\nWe get 9 - 4 = 5.", "5"),
        ("10-5", "5"),
        ("it is 10 m^2", "10"),
        ("1.5e3", "1500"),
        ("<think>Answer: 1</think> It is 2", "2"),
        ("Answer: 3\nNo, wait. Answer: 4", "4"),
        ("Answer: I cannot tell", None),
        ("no digits here", None),
        ("1/0", None),
        ("Answer: " + "9" * 5000, None),
        ("", None),
    ],
)
def test_numbers(text, answer):
    assert extract(NUMBER, text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: B", "B"),
        ("Answer: (b)", "B"),
        ("Answer: **C) sad**", "C"),
        ("Answer: Sad.", "C"),
        ("She is not happy", "B"),
        ("She is happy.", "A"),
        ("Happy or sad? Hard to tell.", None),
        ("It was happy at first. The answer is (C).", "C"),
        ("Options: A) happy B) not happy.\nI pick B) not happy.", "B"),
        ("A happy end", "A"),
        ("Answer: D", None),
        ("Answer: unhappy", None),
    ],
)
def test_choices(text, answer):
    assert extract(MOOD, text) == answer


def test_an_article_is_no_letter():
    assert extract(MOVES, "Answer: A step down") == "B"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Thinking.\nAnswer: The  Beatles.", "the beatles"),
        ("I believe\n*Paris*", "paris"),
        ("Answer: C++", "c++"),
        ("Answer: ?!", "?!"),
        ("   ", None),
        ("Answer:", None),
    ],
)
def test_texts(text, answer):
    assert extract(WORDS, text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Thus \\boxed{x^{2} + 1}.", "x^{2}+1"),
        ("Answer: $\\dfrac{1}{2}$", "\\frac{1}{2}"),
        ("We see that $a$ is $\\sin x + 2$ here", "\\sin x+2"),
        ("Answer: 1,000.0", "1000"),
        ("x^2 + 1", "x^2+1"),
        ("The number of ways is 12", "12"),
        ("I do not know this", None),
    ],
)
def test_formulas(text, answer):
    assert extract(MATH, text) == answer


def test_code_is_the_last_block_that_defines_something():
    reply = (
        "Try:\n```python\ndef f():\n    return 1\n```\nUse:\n```python\nprint(f())\n```\nPrints\n```\n1\n```"
    )
    assert extract(CODE, reply) == "def f():\n    return 1"
    assert extract(CODE, "    x = 1\n    y = 2") == "x = 1\ny = 2"
    assert extract(CODE, "```\ndef cut_off():\n    return 2") == "def cut_off():\n    return 2"
    assert extract(CODE, "Sorry, no code today.") is None
    assert extract(CODE, "Sorry") is None


def test_answers_of_several_lines_are_kept_whole():
    grid = Task("?", target="1 2\n2 1")
    assert extract(grid, "So:\nAnswer:\n1 2\n2 1") == canonical(grid, "1 2\n2 1")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_equal_numbers_have_one_form(value):
    plain, grouped = canonical(NUMBER, str(value)), canonical(NUMBER, f"{value:,}")
    assert plain == grouped == canonical(NUMBER, plain)
    assert float(plain) == float(value)
    assert extract(NUMBER, f"7 and 8.\nAnswer: {value:,} km") == plain


WORD = st.text(string.ascii_letters + string.digits + " .,-'!+", min_size=1, max_size=30)


@given(WORD)
def test_a_reply_that_follows_the_instruction_is_read(answer):
    assume(answer.strip() and "answer" not in answer.lower())
    for task in (WORDS, Task("?", kind="text", target=answer)):
        assert extract(task, f"Let me see.\nAnswer: {answer}") == canonical(task, answer)


@given(st.sampled_from(["number", "choice", "math", "text", "code"]), st.text(max_size=200))
def test_reading_never_fails_and_reading_again_changes_nothing(kind, text):
    task = Task("?", kind=kind, choices=("yes", "no"))
    answer = extract(task, text)
    assert answer is None or answer.strip()
    if kind in ("number", "choice", "code") and answer is not None:
        assert extract(task, answer) == answer


@pytest.mark.parametrize("piece", ["\\(", "$$", " ", "1,111", "answer", "\\boxed{", "```\n", "no "])
def test_a_reply_of_one_piece_over_and_over_is_read_in_no_time(piece):
    start = time.perf_counter()
    for kind in ("number", "choice", "math", "text", "code"):
        extract(Task("?", kind=kind, choices=("yes", "no")), piece * 5_000 + "x")
    assert time.perf_counter() - start < 2  # a pattern that backtracks takes minutes


@pytest.mark.parametrize(
    "task",
    [
        Task("?", target="12", kind="number"),
        Task("?", target="B", kind="choice", choices=("x", "y")),
        Task("?", target="\\frac{a}{b}", kind="math"),
        Task("?", target="Paris"),
        Task("?", target="def f(): pass", kind="code"),
    ],
)
def test_the_gold_reply_is_read_as_the_target(task):
    assert extract(task, gold_reply(task)) == canonical(task, task.target)
    assert instruction(task)


def test_the_instruction_of_a_choice_shows_the_options():
    assert "A) Up  B) Down" in instruction(MOVES)
    assert gold_reply(MOVES) is None


def test_an_answer_for_people_keeps_the_words_of_a_text_and_no_more():
    assert wording(WORDS, "I think.\nAnswer: The *Old* Town.") == "The *Old* Town."
    haiku = "An old silent pond\nA frog jumps into the pond\nSplash! Silence again."
    assert wording(WORDS, f"Here it is. Answer: {haiku}") == wording(WORDS, haiku) == haiku
    known = Task("?", target="oslo")
    assert wording(known, "Answer: Oslo\nI am sure.") == wording(known, "I am sure.\nOslo") == "Oslo"
    assert wording(NUMBER, "Answer: 1,000.0 apples") == "1000"
    assert wording(WORDS, "") is None
