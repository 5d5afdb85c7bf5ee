"""Pictures that may go along with a prompt: which kinds, and what one costs. Loads nothing else."""

IMAGE_TOKENS = 1_200
"""An image of about a megapixel; providers scale larger ones down to that."""


def image_type(data: bytes) -> str:
    """The media type of a picture by its first bytes, of the kinds every provider takes; empty for others."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
