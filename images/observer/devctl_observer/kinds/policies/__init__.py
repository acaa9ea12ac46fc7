"""LifecyclePolicies: the API server enforces them, the observer says what is wrong with them."""
