"""Several processes, one engine. Process 0 runs the script; the others compute with it.

`accelerate launch` and `torchrun` start one script in every process. From its first `torch_engine` to the end
of process 0, each process but the first waits there for calls, which all make with the same arguments and in
the same order. Teams, worlds, folders and reports are thus of process 0 alone: what is drawn by chance, paid
for, or written, is drawn, paid for and written once.
"""

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor, distributed

from motet.errors import BadInput, MissingExtra, MotetError
from motet.models.trainable.checkpoint import About
from motet.models.trainable.sample import Drawing, Request
from motet.models.trainable.weights import Policy
from motet.train.engine import REFERENCE, Adam
from motet.train.gradient import Body, GradientEngine
from motet.train.objective import Loss
from motet.train.rows import Row

T = TypeVar("T")


class Processes:
    """All processes of one launcher.

    Args:
        sharded: what `accelerate` was told of FSDP; None leaves all weights whole in every process.
        engines: made by all processes, in the same order.
    """

    def __init__(self) -> None:
        try:
            import accelerate  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtra("accelerate", "train") from None
        self.sharded = _asked_for() if _on("ACCELERATE_USE_FSDP") else None
        state = accelerate.PartialState(cpu=_on("ACCELERATE_USE_CPU") or not torch.cuda.is_available())
        self.index, self.count, self.device = state.process_index, state.num_processes, state.device
        self.engines: list[Any] = []
        self._lock = threading.RLock()  # held during a call: threads that call take turns
        # Others hear nothing while process 0 is at work with models and worlds elsewhere.
        self._words = distributed.new_group(backend="gloo", timeout=timedelta(days=30))
        self._usable = True
        if self.index == 0:
            atexit.register(self._leave)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Have every process call a function of a module; what it returns in process 0.

        Raises:
            MotetError: it failed elsewhere. And whatever it raises here.
        """
        with self._lock:
            if not self._usable:
                raise MotetError("a call was cut short and the processes are out of step; launch again")
            distributed.broadcast_object_list([(function, args)], 0, self._words)
            return self._called(function, args)

    def follow(self) -> NoReturn:
        """Make the calls that process 0 makes, until it ends, and end too."""
        while True:
            heard: list[Any] = [None]
            distributed.broadcast_object_list(heard, 0, self._words)
            if heard[0] is None:
                self._part()
                sys.exit(0)
            with suppress(MotetError):  # process 0 has it too, and its script decides
                self._called(*heard[0])

    def _called(self, function: Callable[..., T], args: tuple[Any, ...]) -> T:
        failure: MotetError | None = None
        try:
            result = function(*args)
        except MotetError as error:
            failure = error
        except BaseException:  # it may have stopped anywhere, and what the others wait for is not known
            self._usable = False
            raise
        failures = self.gather(failure and str(failure))
        if failure:
            raise failure
        if found := {i: words for i, words in enumerate(failures) if words}:
            raise MotetError(f"processes failed where process {self.index} did not: {found}")
        return result

    def _leave(self) -> None:
        if self._usable:
            distributed.broadcast_object_list([None], 0, self._words)
            self._part()

    def _part(self) -> None:
        self.engines.clear()
        distributed.barrier(self._words)  # nobody leaves while another still talks to it
        distributed.destroy_process_group()
        # Frees it here, and so ends its threads: one that frees a tensor while Python ends takes all down.
        del self._words

    def gather(self, mine: T) -> list[T]:
        """What each process has, in all of them."""
        every: list[Any] = [None] * self.count
        distributed.all_gather_object(every, mine, self._words)
        return every

    def dealt(self, requests: Sequence[Request]) -> list[Request]:
        """The requests, each with this process's part of its samples."""
        most = -(-sum(len(r.seeds) for r in requests) // self.count)
        first, found, at = self.index * most, list[Request](), 0
        for r in requests:
            mine = r.seeds[max(0, first - at) : max(0, first + most - at)]
            found.append(Request(r.prompt, mine, r.sampling, r.max_tokens))
            at += len(r.seeds)
        return found

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum over all processes; sharded gradients are added up as they are computed."""
        if not hasattr(tensor, "full_tensor"):
            distributed.all_reduce(tensor, group=self._words if tensor.device.type == "cpu" else None)
        return tensor

    def shard(self, module: Any) -> None:
        """Split weights among the processes, layer by layer; adapters stay whole everywhere.

        Layers are put on the device one after the other, so that the module need not fit there.
        """
        if not self.sharded:
            return
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard

        names = self.sharded.transformer_cls_names_to_wrap or module._no_split_modules or ()
        layers = [m for m in module.modules() if type(m).__name__ in names]
        if not layers:
            raise BadInput(f"no layer to shard in a {type(module).__name__}; name its class for accelerate")
        mesh = init_device_mesh(self.device.type, (self.count,))
        adapters = {p for name, p in module.named_parameters() if ".lora_" in name}
        for part in (*layers, module):
            # Also the outermost: whole weights that stay from a pass would be stale after a step.
            fully_shard(part, mesh=mesh, reshard_after_forward=True, ignored_params=adapters)
        for part in module.modules():
            if isinstance(part, FSDPModule):  # gradients are sums here, and not means over processes
                part.set_gradient_divide_factor(1.0)
                part.set_force_sum_reduction_for_comms(True)

    def idle(self, module: Any) -> None:
        """One pass that changes nothing: layers are put together by all processes or by none."""
        nothing = 0 * module(input_ids=torch.zeros(1, 1, dtype=torch.long, device=module.device)).logits.sum()
        if nothing.requires_grad:
            nothing.backward()

    @contextmanager
    def in_step(self, module: Any) -> Iterator[None]:
        """Passes without gradients, of which each process needs some number of its own."""
        if not self.sharded:
            yield
            return
        # In front of FSDP's own hook, which waits for the others.
        hook = module.register_forward_pre_hook(lambda *_: self._busy(1) and None, prepend=True)
        try:
            yield
        finally:
            hook.remove()
        with torch.no_grad():
            while self._busy(0):
                self.idle(module)

    def _busy(self, mine: int) -> int:
        return int(self.add_up(torch.tensor(mine)))


def _on(setting: str) -> bool:
    return os.environ.get(setting, "").lower() in ("true", "1", "yes")


def _asked_for() -> Any:
    from accelerate.utils import FullyShardedDataParallelPlugin  # type: ignore[import-untyped]
    from accelerate.utils import disable_fsdp_ram_efficient_loading as read_everywhere

    version, offload = os.environ.get("FSDP_VERSION", "1"), _on("FSDP_OFFLOAD_PARAMS")
    if version != "2" or offload:
        raise BadInput(
            f"accelerate asks for FSDP version {version}{' with offloading' if offload else ''}; launch with "
            f"--fsdp_version 2, and without --fsdp_offload_params"
        )
    read_everywhere()  # or transformers would give the weights to the first process alone
    return FullyShardedDataParallelPlugin()


@cache
def processes() -> Processes | None:
    """The processes that a launcher started; None when there is one."""
    return Processes() if int(os.environ.get("WORLD_SIZE", "1")) > 1 else None


class Together(GradientEngine):
    """The engine of a body that every process has. Files are read and written by process 0."""

    def __init__(self, body: Body, micro_tokens: int, among: Processes) -> None:
        super().__init__(body, micro_tokens)
        self._among, self._number = among, len(among.engines)
        among.engines.append(self)

    def _all(self, method: str, *args: Any) -> Any:
        return self._among.call(_alone, self._number, method, *args)

    def forward_backward(self, policy: str, rows: Sequence[Row], loss: Loss) -> dict[str, float]:
        """Add the gradient of a loss over these rows to the policy's."""
        found: dict[str, float] = self._all("forward_backward", policy, rows, loss)
        return found

    def optim_step(self, policy: str, optimizer: Adam) -> dict[str, float]:
        """Take one step along the gradient and forget it."""
        found: dict[str, float] = self._all("optim_step", policy, optimizer)
        return found

    def logprobs(self, policy: str, rows: Sequence[Row]) -> list[tuple[float, ...]]:
        """The policy's log-probability of each id inside the mask of each row, NaN elsewhere."""
        found: list[tuple[float, ...]] = self._all("logprobs", policy, rows)
        return found

    def draw(self, policy: Policy, requests: Sequence[Request]) -> Drawing:
        """Draw samples in all processes, of a policy of this engine."""
        # Whether somebody still waits for them is known here alone, and asking it does not travel.
        bare = [Request(r.prompt, r.seeds, r.sampling, r.max_tokens) for r in requests]
        return self._among.call(_drawn, self._number, policy.id or REFERENCE, bare)

    def _kept(self, policy: str) -> dict[str, Tensor]:
        found: dict[str, Tensor] = self._all("_kept", policy)
        return found

    def _take(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
        self._all("_take", policy, saved, about, path)


def _alone(number: int, method: str, *args: Any) -> Any:
    """What an engine does where there is one process, done by this process."""
    return getattr(super(Together, _engine(number)), method)(*args)


def _drawn(number: int, policy: str, requests: Sequence[Request]) -> Drawing:
    found: Drawing = _engine(number)._body.draw(policy, requests)
    return found


def _engine(number: int) -> Any:
    among = processes()
    assert among
    return among.engines[number]
