//! Board files: the six of the project, and files that break a rule.

use spindle_boards::data::Board;

#[test]
fn all_boards_parse() {
    let boards = Board::all().unwrap_or_else(|issues| panic!("{issues}"));
    assert_eq!(boards.len(), 6);
    for board in &boards {
        assert_eq!(board.core_mhz() as usize, board.config().clock_mhz as usize, "{}", board.name);
        assert!(board.used_pins().count() > 20, "{}", board.name);
    }
}
