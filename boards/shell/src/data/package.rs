//! Package and board pin tables: `boards/packages/*.csv`.

use super::Board;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Tables by board.
const TABLES: [(&str, &str); 6] = [
    ("u50", include_str!("../../../packages/u50.csv")),
    ("u55c", include_str!("../../../packages/u55c.csv")),
    ("u280", include_str!("../../../packages/u280.csv")),
    ("u250", include_str!("../../../packages/u250.csv")),
    ("kcu116", include_str!("../../../packages/kcu116.csv")),
    ("kc705", include_str!("../../../packages/kc705.csv")),
];
/// Tables of whole packages, by part.
const PACKAGES: [(&str, &str); 1] = [("xc7k325tffg900-2", include_str!("../../../packages/xc7k325tffg900-2.csv"))];

/// What a source says about a pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The name of the pin there.
    pub name: String,
    /// Its I/O standard there; empty if there is none.
    pub iostandard: String,
}

/// A pin of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePin {
    /// Bank, or quad of a transceiver; none if no source names the bank.
    pub bank: Option<u32>,
    /// Function of the pin in the package, such as `MGTYRXP3_227`; empty if no source names the function.
    pub function: String,
    /// What the sources say, by the name that `[origin]` gives them.
    pub statements: BTreeMap<String, Statement>,
}

/// A pin's function, as far as rules need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Lane of a transceiver.
    Lane {
        /// Receives.
        receive: bool,
        /// Positive pin of the pair.
        positive: bool,
        /// Channel in the quad.
        channel: u32,
        /// Quad.
        quad: u32,
    },
    /// Reference clock of transceivers.
    Refclk {
        /// Positive pin of the pair.
        positive: bool,
        /// Number in the quad.
        number: u32,
        /// Quad.
        quad: u32,
    },
    /// Pin of the fabric.
    Io {
        /// Number of the pair, and whether the pin is the positive one; none for a single pin.
        pair: Option<(u32, bool)>,
        /// May drive clocks.
        clock: bool,
    },
}

impl Function {
    /// The function of a name of the package file; none if the name is of no kind that a board uses.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(io) = name.strip_prefix("IO_") {
            let clock = ["MRCC", "SRCC", "GC"].iter().any(|c| io.split('_').any(|part| part == *c));
            let first = io.split('_').next()?;
            let digits: String = first.chars().skip(1).take_while(char::is_ascii_digit).collect();
            let pair = match (first.starts_with('L'), first.chars().last()) {
                (true, Some('P')) => Some((digits.parse().ok()?, true)),
                (true, Some('N')) => Some((digits.parse().ok()?, false)),
                _ => None,
            };
            return Some(Self::Io { pair, clock });
        }
        let (head, quad) = name.strip_prefix("MGT")?.rsplit_once('_')?;
        let quad = quad.parse().ok()?;
        if let Some(rest) = head.strip_prefix("REFCLK") {
            let (number, sign) = rest.split_at_checked(1)?;
            return Some(Self::Refclk { positive: sign == "P", number: number.parse().ok()?, quad });
        }
        // The letter of the transceiver's kind, then RX or TX, P or N, and the channel.
        let lane = head.get(1..)?;
        let (direction, rest) = lane.split_at_checked(2)?;
        let (sign, channel) = rest.split_at_checked(1)?;
        Some(Self::Lane { receive: direction == "RX", positive: sign == "P", channel: channel.parse().ok()?, quad })
    }
}

/// Pins of a board, with what each source says about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the file in `boards/packages`, for messages.
    pub file: String,
    pins: HashMap<String, TablePin>,
}

#[derive(Deserialize)]
struct PackageRow {
    pin: String,
    bank: u32,
    function: String,
}

impl Table {
    /// The table of a board; none if there is none of its name.
    ///
    /// # Panics
    /// If the file is no table; the tests read all.
    pub fn of(board: &Board) -> Option<Self> {
        let (name, text) = TABLES.iter().find(|(name, _)| *name == board.name)?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().expect("a pin table has a header").clone();
        let mut pins = HashMap::new();
        for row in reader.records() {
            let row = row.expect("a pin table has rows of equal length");
            let mut statements = BTreeMap::new();
            // After pin, bank and function: for each source a name and an I/O standard.
            for column in (3..row.len()).step_by(2).filter(|c| !row[*c].is_empty()) {
                let statement = Statement { name: row[column].into(), iostandard: row[column + 1].into() };
                statements.insert(header[column].to_owned(), statement);
            }
            let pin = TablePin { bank: row[1].parse().ok(), function: row[2].into(), statements };
            assert!(pins.insert(row[0].to_owned(), pin).is_none(), "{name}.csv has the pin {} twice", &row[0]);
        }
        Some(Self { file: format!("{name}.csv"), pins })
    }

    /// A pin of the table.
    pub fn pin(&self, loc: &str) -> Option<&TablePin> {
        self.pins.get(loc)
    }

    /// Pins, in no order.
    pub fn pins(&self) -> impl Iterator<Item = (&str, &TablePin)> {
        self.pins.iter().map(|(loc, pin)| (loc.as_str(), pin))
    }
}

/// Bank and function of each pin of a part's package; none if there is no such table.
///
/// # Panics
/// If the file is no table; the tests read all.
pub fn package(part: &str) -> Option<HashMap<String, (u32, String)>> {
    let (name, text) = PACKAGES.iter().find(|(name, _)| *name == part)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize::<PackageRow>().map(|row| {
        let row = row.unwrap_or_else(|e| panic!("{name}.csv: {e}"));
        (row.pin, (row.bank, row.function))
    });
    Some(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_parsed() {
        let lane = Function::Lane { receive: true, positive: false, channel: 3, quad: 227 };
        assert_eq!(Function::parse("MGTYRXN3_227"), Some(lane));
        let clock = Function::Refclk { positive: true, number: 1, quad: 115 };
        assert_eq!(Function::parse("MGTREFCLK1P_115"), Some(clock));
        let pair = Function::Io { pair: Some((12, true)), clock: true };
        assert_eq!(Function::parse("IO_L12P_T1_MRCC_33"), Some(pair));
        assert_eq!(
            Function::parse("IO_L11N_T1U_N9_GC_68"),
            Some(Function::Io { pair: Some((11, false)), clock: true })
        );
        assert_eq!(Function::parse("IO_T3U_N12_PERSTN0_65"), Some(Function::Io { pair: None, clock: false }));
        assert_eq!(Function::parse("IO_25_13"), Some(Function::Io { pair: None, clock: false }));
        assert_eq!(Function::parse("VP_0"), None);
    }

    #[test]
    fn tables_have_only_functions_that_are_known() {
        for board in Board::names().map(|name| Board::named(name).unwrap()) {
            let table = Table::of(&board).unwrap();
            for (loc, pin) in table.pins().filter(|(_, p)| !p.function.is_empty()) {
                let bank = pin.function.rsplit('_').next().and_then(|b| b.parse().ok());
                assert!(Function::parse(&pin.function).is_some(), "{}: {loc}", table.file);
                assert_eq!(bank, pin.bank, "{}: {loc}", table.file);
            }
        }
    }
}
