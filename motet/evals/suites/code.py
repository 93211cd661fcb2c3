"""Tiny functions with unit tests, written for Motet in the form of HumanEval (arXiv:2107.03374)."""

from motet.types import Task

ITEMS = '''
def double(n: int) -> int:
    """Return twice n."""
    return 2 * n

assert double(3) == 6
assert double(-1) == -2
assert double(0) == 0


def is_even(n: int) -> bool:
    """Return True if n is even, else False."""
    return n % 2 == 0

assert is_even(4) is True
assert is_even(7) is False
assert is_even(0) is True


def largest(numbers: list[int]) -> int:
    """Return the largest number of a list that is not empty."""
    return max(numbers)

assert largest([1, 5, 2]) == 5
assert largest([-3, -7]) == -3
assert largest([4]) == 4


def reverse(text: str) -> str:
    """Return the text backwards."""
    return text[::-1]

assert reverse("abc") == "cba"
assert reverse("") == ""
assert reverse("aab") == "baa"


def count_vowels(text: str) -> int:
    """Count the letters a, e, i, o, u, large or small."""
    return sum(letter in "aeiou" for letter in text.lower())

assert count_vowels("hello") == 2
assert count_vowels("AEIOU") == 5
assert count_vowels("xyz") == 0


def factorial(n: int) -> int:
    """Return 1 * 2 * ... * n; factorial(0) is 1."""
    return 1 if n == 0 else n * factorial(n - 1)

assert factorial(0) == 1
assert factorial(1) == 1
assert factorial(5) == 120


def unique(items: list[int]) -> list[int]:
    """Drop repeated items; keep the order of first appearance."""
    return list(dict.fromkeys(items))

assert unique([3, 1, 3, 2, 1]) == [3, 1, 2]
assert unique([]) == []
assert unique([1, 1]) == [1]


def is_palindrome(text: str) -> bool:
    """Tell whether text reads the same backwards, ignoring case."""
    return text.lower() == text.lower()[::-1]

assert is_palindrome("Level") is True
assert is_palindrome("ab") is False
assert is_palindrome("") is True


def clamp(x: int, low: int, high: int) -> int:
    """Return x, but not below low and not above high."""
    return max(low, min(x, high))

assert clamp(5, 0, 3) == 3
assert clamp(-2, 0, 3) == 0
assert clamp(2, 0, 3) == 2


def word_lengths(sentence: str) -> dict[str, int]:
    """Map each word of the sentence to its length."""
    return {word: len(word) for word in sentence.split()}

assert word_lengths("a fine day") == {"a": 1, "fine": 4, "day": 3}
assert word_lengths("") == {}


def fizz(n: int) -> str:
    """Return "fizz" for multiples of 3, "buzz" for those of 5, "fizzbuzz" for both, else n as text."""
    return "fizz" * (n % 3 == 0) + "buzz" * (n % 5 == 0) or str(n)

assert fizz(9) == "fizz"
assert fizz(10) == "buzz"
assert fizz(30) == "fizzbuzz"
assert fizz(7) == "7"
'''


def make_code() -> tuple[Task, ...]:
    """Make the items; the gold program is the target and lies in `meta["solution"]` as well."""
    return tuple(map(_item, ITEMS.strip().split("\n\n\n")))


def _item(text: str) -> Task:
    solution, _, tests = text.partition("\n\n")
    head = solution[: solution.rindex('"""') + 3]
    return Task(
        f"Complete this Python function.\n\n{head}",
        target=solution,
        id=head.removeprefix("def ").partition("(")[0],
        kind="code",
        tests=tests,
        meta={"solution": solution},
    )
