"""Commands that go on in all ranks of a server without whoever started them."""
