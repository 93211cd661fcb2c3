"""What tokens cost, from the `genai-prices` table that ships with that package; no network."""

from motet.types import Usage


def price(model: str, provider: str | None, usage: Usage) -> float | None:
    """The price of `usage` in US dollars, or None (never 0) when it is not known.

    Args:
        model: the provider's own name of the model, e.g. `gpt-5-mini`.
        provider: its id (`openai`) or the address of its API; None when nobody knows.
        usage: tokens of one reply; cached input has its own price.
    """
    if not provider or not usage.tokens:
        return None
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    amount = Priced(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens or None,
    )
    try:
        if "://" in provider:
            found = calc_price(amount, model, provider_api_url=provider)
        else:
            found = calc_price(amount, model, provider_id=provider)
    except LookupError:
        return None
    return float(found.total_price)
