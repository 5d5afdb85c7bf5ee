"""What a provider says about its limits stands in the details of the error."""

from pydantic_ai.exceptions import ModelHTTPError

from tui_app.agent.errors import describe_error


def test_rate_limit_headers_are_in_the_details_and_no_others() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "anthropic-ratelimit-tokens-reset": "2026-11-22T16:00:00Z",
        "Retry-After": "7",
        "set-cookie": "session=secret",
    }
    told = describe_error(
        ModelHTTPError(429, "gpt-5", {"error": "slow"}, headers=headers), model="openai:gpt-5"
    )
    assert "x-ratelimit-remaining-requests: 0" in told.detail
    assert "anthropic-ratelimit-tokens-reset: 2026-11-22T16:00:00Z" in told.detail
    assert "retry-after: 7" in told.detail
    assert "secret" not in told.detail
