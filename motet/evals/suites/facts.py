"""Easy questions of general knowledge, written for Motet; four options each, the right one first."""

from motet.types import Task

FACTS = """\
What is the capital of France? Paris, London, Rome, Madrid
What is the capital of Japan? Tokyo, Beijing, Seoul, Bangkok
What is the capital of Italy? Rome, Paris, Vienna, Athens
What is the capital of Egypt? Cairo, Tunis, Lagos, Nairobi
What is the capital of Germany? Berlin, Warsaw, Oslo, Dublin
Which planet is the largest in the solar system? Jupiter, Mars, Venus, Mercury
Which planet is closest to the Sun? Mercury, Neptune, Saturn, Jupiter
Which planet is known as the red planet? Mars, Venus, Uranus, Saturn
What is frozen water called? Ice, Steam, Sand, Oil
Which animal barks? Dog, Cat, Cow, Duck
Which animal says meow? Cat, Horse, Sheep, Frog
Which animal gives us wool? Sheep, Snake, Eagle, Shark
What do bees make? Honey, Milk, Bread, Silk
Which season is the coldest? Winter, Summer, Spring, Autumn
Which day comes after Monday? Tuesday, Friday, Sunday, Thursday
Which month is the first of the year? January, March, June, October
Which month is the last of the year? December, May, August, November
What colour is the sky on a clear day? Blue, Green, Red, Brown
What colour is grass? Green, Purple, Orange, Black
What colour do you get by mixing red and yellow? Orange, Blue, Grey, White
How many legs does a spider have? Eight, Two, Four, Ten
How many days are in a week? Seven, Five, Nine, Twelve
How many wheels does a bicycle have? Two, Three, Four, Six
How many sides does a triangle have? Three, Five, Six, Eight
What is the opposite of hot? Cold, Loud, Fast, Heavy
What is the opposite of up? Down, Left, Near, Wide
Which metal is attracted by a magnet? Iron, Gold, Silver, Copper
Which gas do people need to breathe? Oxygen, Helium, Neon, Argon
Which organ pumps blood? Heart, Liver, Stomach, Lung
Which sense uses the eyes? Sight, Smell, Taste, Hearing
Which fruit is yellow and curved? Banana, Apple, Grape, Cherry
Which ocean lies between Europe and America? Atlantic, Pacific, Indian, Arctic
On which continent is Brazil? America, Africa, Asia, Europe
On which continent is China? Asia, Africa, America, Australia
Which language is spoken in Spain? Spanish, German, Russian, Dutch
Who wrote Romeo and Juliet? Shakespeare, Dickens, Tolstoy, Homer
What is a baby dog called? Puppy, Kitten, Calf, Lamb
Which star gives the Earth its daylight? Sun, Sirius, Polaris, Vega
Which instrument has black and white keys? Piano, Drum, Flute, Violin
Which of these is a vegetable? Carrot, Pencil, Pigeon, Hammer
"""


def make_facts() -> tuple[Task, ...]:
    """Make the forty items, with the right option first; `load_suite` shuffles them."""
    tasks = []
    for i, line in enumerate(FACTS.splitlines(), 1):
        question, _, options = line.partition("? ")
        choices = tuple(options.split(", "))
        tasks.append(Task(f"{question}?", target="A", id=f"fact-{i:02}", kind="choice", choices=choices))
    return tuple(tasks)
