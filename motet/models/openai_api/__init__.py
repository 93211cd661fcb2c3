"""Models behind servers that speak OpenAI's chat completions: the client, and what goes over the wire."""

from motet.models.openai_api.client import MAX_REPLY_BYTES, OpenAICompatible, http_model, openai_model

__all__ = ["MAX_REPLY_BYTES", "OpenAICompatible", "http_model", "openai_model"]
