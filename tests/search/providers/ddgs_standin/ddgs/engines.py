"""Which engines there are; ``auto`` is none of them, and stands for any."""

ENGINES = {
    "text": {"duckduckgo": object, "mojeek": object},
    "news": {"duckduckgo": object},
    "images": {"duckduckgo": object},
}
