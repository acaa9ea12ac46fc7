"""Writes the document of the GPU workers API, and the client that is made from it."""

from __future__ import annotations

from workers_client.files import rendered

if __name__ == "__main__":
    for path, text in rendered().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
