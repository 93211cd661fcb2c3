"""Walking through an environment as one conversation, which can be forked together with the episode."""

from dataclasses import dataclass, replace

from motet.agent import Agent, Chat
from motet.envs.players import TURN, Turn
from motet.envs.protocol import Env, Step
from motet.errors import BadInput
from motet.tape import RECORDER, Stepped
from motet.types import Reply


@dataclass(frozen=True)
class Walk:
    """An episode of one seat at a time, and what was said in it.

    Args:
        begun: whether the rules were told.
    """

    env: Env
    chat: Chat
    begun: bool = False

    @property
    def over(self) -> bool:
        """Whether nobody acts any more."""
        return not self.env.acting()

    @property
    def seat(self) -> str:
        """Whose move it is.

        Raises:
            BadInput: several seats act at once.
        """
        (seat, *others) = self.env.acting()
        if others:
            raise BadInput(f"{self.env.name} has seats that act at once; this method needs one at a time")
        return seat

    def seen(self) -> str:
        """What is said to whoever acts now: the rules at first, then what the seat sees."""
        text = self.env.observe(self.seat).text
        return text if self.begun else f"{self.env.brief(self.seat)}\n\n{text}"

    async def draw(self, n: int, *, by: Agent | None = None) -> list[Reply]:
        """`n` next moves; nothing is done yet."""
        token = TURN.set(Turn(self.env, self.seat, len(self.chat.thread.messages)))
        try:
            return await self.chat.branches(n, self.seen(), by=by)
        finally:
            TURN.reset(token)

    def take(self, reply: Reply, *, record: bool = True) -> tuple["Walk", Step]:
        """The walk after this move, in a copy of the episode; with `record`, the step is on the tape."""
        env, seat, chat = self.env.clone(), self.seat, self.chat.after(reply, self.seen())
        action, before, observed = (
            env.read_action(seat, reply.text),
            env.state_hash(),
            env.observe(seat).digest,
        )
        step = env.step({seat: action})
        if record and RECORDER.get():
            stepped = Stepped(
                state=before,
                actions={seat: None if action is None else str(action)},
                observations={seat: observed},
                rewards=step.rewards,
                at=chat.recorder.clock(),
                calls={seat: reply.call},
                invalid=step.invalid,
                done=step.done,
            )
            chat.recorder.record(stepped)
        return replace(self, env=env, chat=chat, begun=True), step

    def shown(self) -> str:
        """What there is to see: the observation, or how the episode ended."""
        return f"The episode is over: {self.env.returns()}" if self.over else self.env.observe(self.seat).text
