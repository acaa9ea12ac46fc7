"""DevServerFlavors: whether a pod of one fits, and how many do."""
