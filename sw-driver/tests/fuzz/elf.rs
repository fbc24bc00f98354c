//! Writes an image as the file that a linker would make of it.

use spindle::image::{UserHeader, ENTRY_SYMBOLS};
use spindle::Image;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_fuzz::Program;

/// The file of an image.
pub fn file(image: &Image) -> Vec<u8> {
    let entries = image.entries.iter().zip(ENTRY_SYMBOLS);
    let header = image.user_header.as_ref().map(|UserHeader { name, bytes }| {
        let mut data = [&u32::from(*bytes).to_le_bytes()[..], name.as_bytes(), &[0]].concat();
        data.resize(data.len().next_multiple_of(4), 0);
        data
    });
    let tailroom = (image.tailroom > 0).then(|| (".spin_tailroom", u32::from(image.tailroom).to_le_bytes().to_vec()));
    let program = Program {
        code: (base(CODE), image.code.clone()),
        data: (base(CONTEXT), image.state.clone()),
        functions: image.symbols.iter().map(|(address, name)| (*address, 0, name.clone())).collect(),
        globals: entries.filter_map(|(entry, name)| Some(((*entry)?, name.into()))).collect(),
        sections: header.map(|data| (".spin_user_header", data)).into_iter().chain(tailroom).collect(),
        ..Program::default()
    };
    program.file()
}
