"""Short reviews, written for Motet, each plainly positive or negative."""

from motet.types import Task

POSITIVE = """\
The food was delicious and the staff could not have been kinder.
I laughed from start to finish; a wonderful film.
Best headphones I have ever owned, clear and comfortable.
The room was spotless and the view took my breath away.
A moving story, beautifully acted.
It arrived early and works perfectly.
My children love this game and ask for it every day.
The doctor listened carefully and explained everything.
Great value, I would gladly buy it again.
The concert was magical and nobody wanted it to end.
Fresh bread, warm soup and a friendly smile: just lovely.
This book kept me awake all night, I could not put it down.
The battery lasts for days, I am very impressed.
A charming little hotel, we will certainly come back.
Setting it up was easy and the help line was excellent.
The garden tour was the highlight of our holiday.
Soft, warm and well made, my favourite sweater.
The teacher is patient and the lessons are a joy.
Brilliant service, my car runs like new.
The cake was perfect and every guest asked for the recipe.
"""

NEGATIVE = """\
The soup was cold and the waiter was rude.
Two hours of my life that I will never get back.
It broke on the second day and nobody answers my emails.
The room smelled awful and the bed was hard.
A dull plot and terrible acting.
The package came late and half of it was missing.
I regret buying this, it is useless.
The doctor was in a hurry and ignored my questions.
Far too expensive for such poor quality.
The sound was so bad that we left early.
The bread was stale and the coffee tasted burnt.
Boring from the first page to the last.
The battery dies within an hour, very disappointing.
A dirty, noisy hotel, never again.
The instructions are confusing and the support is hopeless.
The tour was a waste of money.
The sweater shrank and lost its colour in one wash.
The teacher shouts and the lessons are a mess.
They charged me twice and the engine still fails.
The cake was dry and nobody finished a slice.
"""


def make_sentiment() -> tuple[Task, ...]:
    """Make the forty items, the two kinds in turn."""
    pairs = zip(POSITIVE.splitlines(), NEGATIVE.splitlines(), strict=True)
    labelled = [(text, letter) for pair in pairs for text, letter in zip(pair, "AB", strict=True)]
    return tuple(
        Task(
            f"Is this review positive or negative?\n\n{text}",
            target=letter,
            id=f"sentiment-{i:02}",
            kind="choice",
            choices=("positive", "negative"),
        )
        for i, (text, letter) in enumerate(labelled, 1)
    )
