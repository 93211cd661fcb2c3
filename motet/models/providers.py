"""Models of any provider that the any-llm library knows: `PROVIDER:NAME`."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from motet.errors import AuthFailed, MissingExtra, UnknownName
from motet.models.openai_api.client import STREAMED, OpenAICompatible, Server, told
from motet.models.openai_api.stream import Listener, Stream
from motet.models.openai_api.wire import Completion, convert
from motet.models.wrappers.ratelimit import Gate

if TYPE_CHECKING:
    from any_llm import AnyLLM


class ProviderModel(OpenAICompatible):
    """A model reached through any-llm, which gives every provider OpenAI's shape.

    Args:
        provider: its name in any-llm, e.g. `anthropic`.
        model: the provider's name for the model.
        api_base: address of the API; None is the provider's own, or what its environment variable says.
        timeout_s: time for a whole reply, in seconds.
        gate: limits of rate and concurrency.
        extra: further arguments of any-llm's `acompletion`.

    Raises:
        MissingExtra: any-llm, or the client it needs for this provider, is not installed.
        UnknownName: any-llm knows no such provider.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        api_base: str | None = None,
        timeout_s: float = 120.0,
        gate: Gate | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            model, name=f"{provider}:{model}", base_url=api_base, timeout_s=timeout_s, gate=gate, extra=extra
        )
        maker = provider_class(provider)
        self._open = partial(_open, provider, api_base, maker.MAX_RETRIES_SUPPORT != "unsupported")
        self._price_as = provider
        self._one_by_one = not maker.SUPPORTS_COMPLETION_N

    def _connect(self) -> Server:
        return AnyLLMServer(self._open())


class AnyLLMServer:
    """A provider's client, seen as a server."""

    def __init__(self, client: "AnyLLM") -> None:
        self._client = client
        key = getattr(getattr(client, "client", None), "api_key", None)
        self.secret = key if isinstance(key, str) and key != "no-key-required" else ""

    async def exchange(self, body: dict[str, Any], listener: Listener | None) -> Completion:
        """See `Server.exchange`."""
        model = body["model"]
        if not listener or not self._client.SUPPORTS_COMPLETION_STREAMING:
            answer = await self._client.acompletion(**body)
            return told(convert(answer.model_dump(), model), listener)
        answer = await self._client.acompletion(**body, **STREAMED)
        stream = Stream(model, listener)
        async for piece in answer:
            stream.add(convert(piece.model_dump(), model))
        return stream.whole()

    async def close(self) -> None:
        """See `Server.close`."""
        from any_llm.utils.aio import aclose_quietly

        await aclose_quietly(getattr(self._client, "client", None))


def provider_class(provider: str) -> "type[AnyLLM]":
    """Look up any-llm's class for a provider.

    Raises:
        MissingExtra: any-llm, or the client it needs for this provider, is not installed.
        UnknownName: any-llm knows no such provider.
    """
    try:
        from any_llm import AnyLLM
    except ImportError:
        raise MissingExtra("any-llm-sdk", "providers") from None
    known = AnyLLM.get_supported_providers()
    if provider not in known:
        raise UnknownName("model provider", provider, known)
    found = AnyLLM.get_provider_class(provider)
    if found.MISSING_PACKAGES_ERROR is not None:
        raise MissingExtra(f"any-llm-sdk[{provider}]", "providers")
    return found


def provider_model(name: str, *, timeout_s: float = 120.0, gate: Gate | None = None) -> ProviderModel:
    """`PROVIDER:NAME`; the key is read from the variable that is usual for the provider.

    Args:
        name: provider and model, e.g. `anthropic:claude-sonnet-4-5`.
        timeout_s: time for a whole reply, in seconds.
        gate: limits of rate and concurrency; at most 64 requests in flight unless it says otherwise.

    Raises:
        MissingExtra: any-llm, or the client it needs for this provider, is not installed.
        UnknownName: any-llm knows no such provider.
    """
    provider, _, model = name.partition(":")
    return ProviderModel(provider, model, timeout_s=timeout_s, gate=gate or Gate(64))


def _open(provider: str, api_base: str | None, can_retry: bool) -> "AnyLLM":
    from any_llm import AnyLLM
    from any_llm.exceptions import MissingApiKeyError

    retries = 0 if can_retry else None
    try:
        return AnyLLM.create(provider, api_base=api_base, unified_exceptions=True, max_retries=retries)
    except MissingApiKeyError as error:
        raise AuthFailed(str(error)) from None
