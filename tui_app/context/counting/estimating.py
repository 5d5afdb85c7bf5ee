"""About how many tokens a text has, for who cannot wait for a tokenizer."""


def estimate(text: str) -> int:
    """Estimate tokens without a tokenizer: one per 4 bytes of UTF-8, which is 4 characters of ASCII.

    Bytes rather than characters, because other scripts need more tokens per character: nearly one for a
    Chinese character, more than one for many emoji.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // 4)
