"""Ask once: replies kept in memory by what decides them, for use outside of runs.

Within a run there is no need for it: `Team.run(reuse=True)` takes replies from the store.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from motet.models.protocol import Model
from motet.tape.context import CALL
from motet.tape.keys import node_key, request_key
from motet.types import Message, Reply, Sampling


class Cached:
    """A model that draws each sample once.

    Samples are told apart by their index within a run (`CallContext.index`), so asking one question five
    times still gives five samples, and asking it five times in another run gives the same five.

    Args:
        model: whom to ask for what is not there yet.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kept: dict[str, dict[int, Reply]] = defaultdict(dict)

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's own: keeping replies changes no distribution."""
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`. Kept replies are marked `cached`; failures are not kept."""
        context = CALL.get()
        first, seed = (context.index, context.seed) if context else (0, 0)
        head = ""
        for message in messages:
            head = node_key(head, message)
        kept = self._kept[request_key(self.identity, head, sampling, seed)]
        missing = [i for i in range(first, first + n) if i not in kept]
        fresh = await self.model.sample(messages, len(missing), sampling) if missing else []
        kept.update(zip(missing, (msgspec.structs.replace(r, cached=True) for r in fresh), strict=True))
        new = dict(zip(missing, fresh, strict=True))
        return [new.get(i) or kept[i] for i in range(first, first + n)]
