"""A Tinker service in this process: what the SDK's clients can do, on a tiny model."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import torch
from tinker import types

from motet.models.trainable.adapters import Lora, adapted
from motet.models.trainable.sample import Request, generate
from motet.models.trainable.weights import Base
from motet.types import Sampling


class Done:
    """A future of what is there already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        return self._value


class Service:
    """Makes training clients on one base.

    Args:
        mean: gradients are averaged over a sequence's tokens and over sequences, as SkyRL's server does.
    """

    def __init__(self, base: Base, *, mean: bool = False) -> None:
        self.base, self.mean, self.saved, self._names = base, mean, {}, count()

    def create_lora_training_client(self, base_model: str, rank: int, seed: int) -> "Client":
        name = f"adapter{next(self._names)}"
        return Client(self, adapted(self.base, name, Lora(r=rank, seed=seed)))


class Client:
    """One adapter and its optimiser."""

    def __init__(self, service: Service, policy: Any) -> None:
        self.service, self.policy, self.pushed = service, policy, 0
        self.optimizer = torch.optim.AdamW(policy.parameters().values())

    def _logp(self, datum: types.Datum) -> torch.Tensor:
        ids = torch.tensor([datum.model_input.to_ints()])
        targets = torch.tensor(datum.loss_fn_inputs["target_tokens"].data)
        with self.policy.active() as module:
            logits = module(input_ids=ids, use_cache=False).logits[0].float()
        return logits.log_softmax(-1).gather(1, targets[:, None])[:, 0]

    def forward(self, data: list[types.Datum], loss_fn: str) -> Done:
        with torch.no_grad():
            found = [self._logp(datum).tolist() for datum in data]
        outputs = [
            {"logprobs": types.TensorData(data=one, dtype="float32", shape=[len(one)])} for one in found
        ]
        return Done(SimpleNamespace(loss_fn_outputs=outputs, metrics={}))

    def forward_backward(self, data: list[types.Datum], loss_fn: str) -> Done:
        assert loss_fn == "importance_sampling"
        for datum in data:
            given = {name: torch.tensor(t.data) for name, t in datum.loss_fn_inputs.items()}
            ratio = (self._logp(datum) - given["logprobs"]).exp()
            loss = -(ratio * given["advantages"]).sum()
            (loss / len(ratio) if self.service.mean else loss).backward()
        self.pushed += len(data)
        return self.forward(data, loss_fn)

    def optim_step(self, knobs: types.AdamParams) -> Done:
        for parameter in self.policy.parameters().values():
            if self.service.mean and parameter.grad is not None:
                parameter.grad /= self.pushed
        if knobs.grad_clip_norm:
            torch.nn.utils.clip_grad_norm_(self.policy.parameters().values(), knobs.grad_clip_norm)
        betas = knobs.beta1, knobs.beta2
        for group in self.optimizer.param_groups:
            group.update(lr=knobs.learning_rate, betas=betas, eps=knobs.eps, weight_decay=knobs.weight_decay)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.policy.step, self.pushed = self.policy.step + 1, 0
        return Done(SimpleNamespace(metrics=None))

    def save_state(self, name: str) -> Done:
        path = f"tinker://{self.policy.id}/weights/{name}"
        weights = {k: p.detach().clone() for k, p in self.policy.parameters().items()}
        moments = [{k: v.clone() for k, v in self.optimizer.state.get(p, {}).items()} for p in self._all()]
        self.service.saved[path] = weights, moments
        return Done(SimpleNamespace(path=path))

    def load_state_with_optimizer(self, path: str) -> Done:
        weights, moments = self.service.saved[path]
        for (name, parameter), moment in zip(self.policy.parameters().items(), moments, strict=True):
            parameter.data.copy_(weights[name])
            self.optimizer.state[parameter] = {k: v.clone() for k, v in moment.items()}
        return Done(None)

    def _all(self) -> list[torch.Tensor]:
        return list(self.policy.parameters().values())

    def save_weights_and_get_sampling_client(self, name: str) -> "Sampler":
        return Sampler(self.policy)


class Sampler:
    """Samples from an adapter."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def sample(self, prompt: types.ModelInput, num_samples: int, knobs: types.SamplingParams) -> Done:
        seeds = tuple(range(knobs.seed, knobs.seed + num_samples))
        asked = Sampling(temperature=knobs.temperature, top_p=knobs.top_p)
        request = Request(tuple(prompt.to_ints()), seeds, asked, knobs.max_tokens)
        with self.policy.active() as module:
            (group,) = generate(module, self.policy.base.vocabulary, [request])
        sequences = [
            SimpleNamespace(
                stop_reason="length" if one.stop == "length" else "stop",
                tokens=list(one.ids),
                logprobs=list(one.logprobs),
            )
            for one in group
        ]
        return Done(SimpleNamespace(sequences=sequences))

    async def sample_async(self, *given: Any) -> Any:
        return self.sample(*given).result()
