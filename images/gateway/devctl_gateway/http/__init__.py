"""What all endpoints share: errors, pages, ETags, idempotency, limits."""
