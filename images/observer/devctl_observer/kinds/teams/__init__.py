"""DevServerTeams."""
