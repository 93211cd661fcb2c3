"""How a side of a competitive debate makes a speech: search, analyse, write, review, as the stage wants."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from motet.agent import Voice
from motet.errors import ModelError
from motet.tape import RECORDER, ToolUsed
from motet.tools.tool import Tool
from motet.tools.use import use_tool
from motet.types import Content, Failure, Linked, Reply, ToolCall, fill

ORDER = {"constructive": "SA", "rebuttal": "AS", "summary": "A"}
"""Who prepares a stage's speech, in order: a case is searched for first, an attack is planned first."""
GOALS = {
    "constructive": "Build your case: terms, the standard to judge by, three arguments at most.",
    "rebuttal": "Attack the other side: its errors of fact, gaps in logic, weak evidence.",
    "summary": "Close the debate: name the points of clash and say why your side has won each of them.",
}
BRIEF = "Motion or question:\n{task}\n\nYou are {stance}\nStage: {stage}. {goal}"
HEARD = "{brief}\n\nThe debate so far:\n\n{speeches}"
NOTES = "\n\nYour side's material:\n\n{notes}"
SEARCH = "{desk}\n\nWhat should be looked up? Give the words to search for as `queries`, three at most."
ANALYSE = "{desk}\n\nDo not write the speech: say which points it should make, and on which evidence."
WRITE = "{desk}\n\nWrite the speech. Cite material by its title in [brackets] and invent no sources. {form}"
REVIEW = """\
{desk}

Draft of the speech:
{draft}

Check it: does it keep to the material and to your side, answer the other side, and contradict itself
nowhere? Say in `feedback` what must change; set `finished` to true only if nothing must."""
REWRITE = "{desk}\n\nDraft of the speech:\n{draft}\n\nReview:\n{feedback}\n\nWrite it again, mended. {form}"


class Queries(Struct):
    """What the searcher wants to look up."""

    queries: list[str]


class Review(Struct):
    """What the reviewer says of a draft."""

    feedback: str
    finished: bool


@dataclass(frozen=True)
class Side:
    """One team in a debate.

    Args:
        stance: who it is, as its members are told.
        roles: the letters of those who take part, of S(earcher), A(nalyzer), W(riter) and R(eviewer).
        voices: by letter.
        R: how many times a draft is sent back at most.
        search: the tool that looks up evidence, if there is anything to look up.
        notes: the material gathered so far.
    """

    stance: str
    roles: str
    voices: dict[str, Voice]
    R: int
    search: Tool | None
    notes: list[Linked] = field(default_factory=list)

    async def speak(
        self, task: Content, stage: str, speeches: Sequence[Content], form: str
    ) -> Reply | Failure:
        """The speech of a stage; the failure when its writer fails before there is any draft."""
        brief = fill(BRIEF, task=task, stance=self.stance, stage=stage, goal=GOALS[stage])
        heard = fill(HEARD, brief=brief, speeches=speeches) if speeches else brief
        for role in ORDER[stage]:
            if role in self.roles:
                try:
                    await (self._search if role == "S" else self._analyse)(self._desk(heard))
                except ModelError:
                    continue
        desk = self._desk(heard)
        try:
            draft = await self.voices["W"].ask(fill(WRITE, desk=desk, form=form))
        except ModelError as error:
            return error.failure
        for _ in range(self.R if "R" in self.roles else 0):
            try:
                review = await self.voices["R"].ask(fill(REVIEW, desk=desk, draft=draft), schema=Review)
                if review.data.finished:
                    break
                feedback = Linked(review.data.feedback, (review,))
                prompt = fill(REWRITE, desk=desk, draft=draft, feedback=feedback, form=form)
                draft = await self.voices["W"].ask(prompt)
            except ModelError:
                break
        return draft

    def _desk(self, heard: Linked) -> Linked:
        notes = fill(NOTES, notes=self.notes)
        return Linked(heard.text + notes.text, (*notes.links, *heard.links)) if self.notes else heard

    async def _search(self, desk: Linked) -> None:
        if self.search is None:
            return
        wish = await self.voices["S"].ask(fill(SEARCH, desk=desk), schema=Queries)
        for i, query in enumerate(wish.data.queries[:3]):
            self.notes.append(Linked(await _look_up(wish, self.search, i, query), (wish,)))

    async def _analyse(self, desk: Linked) -> None:
        said = await self.voices["A"].ask(fill(ANALYSE, desk=desk))
        self.notes.append(Linked(f"Analysis: {said.text}", (said,)))


async def _look_up(wish: Reply, tool: Tool, i: int, query: str) -> str:
    """Use the search tool for a voice; it is on the tape like any use of a tool."""
    arguments = msgspec.json.encode({"query": query}).decode()
    result, failure = await use_tool(ToolCall(f"{wish.call}.{i}", tool.spec.name, arguments), [tool])
    if recorder := RECORDER.get():
        used = ToolUsed(
            wish.call, wish.voice, tool.spec.name, arguments, result.text, recorder.clock(), failure=failure
        )
        recorder.record(used)
    return result.text
