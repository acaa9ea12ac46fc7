"""DevServerFlavors: whether they fit, and how many pods of them."""
