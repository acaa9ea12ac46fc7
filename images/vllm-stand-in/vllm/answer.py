"""What a model that is none says."""

TEXT = "as the image has it"


def complete(prompt: str) -> str:
    """Say the same to everybody, and repeat what they said."""
    return f"{prompt} ({TEXT})"
