"""What the role `devserver_user` computes, from a DevServerUser."""
