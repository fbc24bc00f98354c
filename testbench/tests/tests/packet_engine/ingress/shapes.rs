//! Every block of the front half in every configuration: emitted, and clean for Verilator's lint.

use crate::source;
use packet_engine::ingress::psn_filter::PsnFilter;
use packet_engine::ingress::{
    header_matcher::HeaderMatcher, ingress_join::IngressJoin, packet_buffer::PacketBuffer, parser::Parser,
};
use spindle_blocks::RamStyle;
use spindle_contract::params::{Config, CELL_BITS};
use spindle_harness::{lint, Source};

fn clean(source: Source) {
    let warnings = lint(&source).unwrap_or_else(|e| panic!("{}: {e:#}", source.top));
    assert!(warnings.is_empty(), "{}: {warnings:#?}", source.top);
}

#[test]
fn emitted_and_lint_clean() {
    clean(source(&mut Parser::default(), "parser"));
    clean(source(&mut IngressJoin::new(1 << CELL_BITS), "ingress_join"));
    for rules in [1, 8, 13, 14, 64].into_iter().chain(Config::ALL.map(|c| c.match_rules)) {
        for style in [RamStyle::Block, RamStyle::Distributed] {
            let name = format!("header_matcher_{rules}_{}", style.attribute());
            clean(source(&mut HeaderMatcher::new(rules, style), &name));
        }
    }
    for config in Config::ALL {
        clean(source(&mut PsnFilter::new(&config), &format!("psn_filter_{}", config.name)));
    }
    for cells in [32, 128].into_iter().chain(Config::ALL.map(|c| c.cells())) {
        for style in [RamStyle::Block, RamStyle::Ultra] {
            let name = format!("packet_buffer_{cells}_{}", style.attribute());
            clean(source(&mut PacketBuffer::new(cells, style), &name));
        }
    }
}

#[test]
#[should_panic(expected = "choose a power of two")]
fn odd_number_of_cells() {
    PacketBuffer::new(100, RamStyle::Block);
}

#[test]
#[should_panic(expected = "choose 1 to 64")]
fn too_many_rules() {
    HeaderMatcher::new(65, RamStyle::Block);
}
