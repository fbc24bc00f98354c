//! Tables on a terminal and in a log alike: plain ASCII.

use comfy_table::{presets, CellAlignment, ContentArrangement, Table};

/// A table with this header; columns from the second on are right-aligned numbers if `numbers` is set.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>, numbers: bool) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header)
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1).filter(|_| numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
