"""Which of two queries: tuning data for the selector of CHASE-SQL.

Paper: Pourreza et al. 2024, arXiv:2410.01943 (catalogue 34).
Idea: every comparison of a right candidate with a wrong one, in the order in which it was shown, with the
number of the right one as the answer. What is right is found by running both, and the gold query, on the
item's database; what the selector said does not matter, so runs of any selector will do.
Calls: none.
Deviates: pairs are those of the runs, the candidates that ran; the paper's clusters by result come to the
same, since candidates with equal results are never compared.
"""

from collections.abc import Sequence

from motet.answers import canonical, extract
from motet.errors import ToolError
from motet.tape import Tape
from motet.tools.database import Database, database_of, same_rows
from motet.tools.sql import Rows
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker
from motet.types import Message


def sql_selection(tapes: Sequence[Tape], *, voice: str = "selector") -> Built:
    """One example to imitate for each comparison of a right query with a wrong one.

    Args:
        tapes: runs of `chase_sql` on items with a target.
        voice: who compared.

    Raises:
        BadInput: an item's database cannot be opened.
    """
    made = Maker()
    for tape in tapes:
        task = tape.started.task
        if task.kind != "sql" or task.target is None:
            made.reject("no SQL item with a target", tape)
            continue
        database, calls = database_of(task), {call.id: call for call in tape.calls}
        gold = canonical(task, task.target)
        wanted = _rows(database, gold)
        if wanted is None:
            made.reject("the target does not run", tape)
            continue
        for call in tape.calls:
            if call.voice != voice or len(call.parents) != 2:
                continue
            queries = [extract(task, tape.path(calls[parent].node)[-1].text) for parent in call.parents]
            found = [_rows(database, query) if query else None for query in queries]
            right = [rows is not None and same_rows(rows, wanted, gold) for rows in found]
            if right[0] == right[1]:
                made.reject("both are right" if right[0] else "neither is right", tape, call)
                continue
            verdict = Message.say("assistant", f'{{"best": {right.index(True) + 1}}}')
            prompt = tape.path(call.prompt)
            trained = (*[False] * len(prompt), True)
            made.sft.append(Example((*prompt, verdict), trained, voice=voice, runs=(tape.run,)))
            made.counts["comparisons"] += 1
    return made.built()


def _rows(database: Database, query: str) -> Rows | None:
    try:
        return database.query(query)
    except ToolError:
        return None
