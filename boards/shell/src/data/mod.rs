//! Boards as `boards/<board>/board.toml` describes them, with the rules that they obey.
