"""What the role `devserver_flavor` computes, from a DevServerFlavor."""
