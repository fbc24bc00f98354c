//! What an image says to the driver and what a handler may send: user headers, frames that are seen in part, the compiler's search path.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::program::{spindle, words, Folder};
use serde_json::Value;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::capture::{self, Captured};
use std::path::Path;
use std::time::Duration;

impl Folder {
    /// Runs a handler on frames: its report, and all that was written.
    fn run(&self, text: &str, frames: &[Vec<u8>], more: &[&str]) -> (Value, String) {
        let [source, input, json] = [self.write("handler.c", text), self.path("in.pcap"), self.path("report.json")];
        let packet = |frame: &Vec<u8>| Captured { time: Duration::ZERO, bytes: frame.clone() };
        capture::write(Path::new(&input), &frames.iter().map(packet).collect::<Vec<_>>()).unwrap();
        let run =
            ["run", &source, "--pcap", &input, "--json", &json, "--out", &self.path("out.pcap")].map(String::from);
        let output = spindle(&[&run.each_ref().map(String::as_str)[..], more].concat());
        assert!(output.status.success(), "{}", words(&output));
        (serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap(), words(&output))
    }
}

fn lines(report: &Value) -> Vec<&str> {
    report["prints"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect()
}

const USER_HEADER: &str = "#include \"spin_printf.h\"\n\
    struct request { uint32_t rank, count; uint16_t kind; uint8_t rest[2]; };\nSPIN_USER_HEADER(struct request);\n\
    int header_handler(const spin_header_t *h, void *state) {\n\
        const struct request *r = spin_user_header(h);\n\
        printf(\"%u %u %u at %u\\n\", r->rank, r->count, r->kind, h->msg_off);\n\
        return SPIN_PROCESS_DATA;\n}\n\
    int payload_handler(const spin_payload_t *p, void *state) { return SPIN_SUCCESS; }\n";

/// The first bytes of a message.
fn request(rank: u32, count: u32, kind: u16) -> Vec<u8> {
    [&rank.to_le_bytes()[..], &count.to_le_bytes(), &kind.to_le_bytes(), &[0; 2]].concat()
}

#[test]
fn a_user_header_is_declared_by_the_image() {
    let folder = Folder::new();
    let (source, image, json) = (folder.write("handler.c", USER_HEADER), folder.path("h.elf"), folder.path("r.json"));
    for family in ["gcc", "clang"].into_iter().take(common::compilers().len()) {
        for level in ["-O0", "-O2"] {
            let output = spindle(&["build", &source, "-o", &image, "--json", &json, "--cc", family, level]);
            assert!(output.status.success() && !words(&output).contains("warning"), "{}", words(&output));
            assert!(words(&output).contains("user header: `struct request`, 12 bytes"), "{}", words(&output));
            let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
            assert_eq!(report["user_header"], serde_json::json!({"name": "struct request", "bytes": 12}));
            let file = std::fs::read(&image).unwrap();
            let parsed = spindle::Image::parse(&file).unwrap();
            assert_eq!(
                parsed.user_header.map(|header| (header.name, header.bytes)),
                Some(("struct request".into(), 12))
            );
            assert!(parsed.state.is_empty(), "the declaration takes no memory of the card");
        }
    }
    let plain = USER_HEADER
        .replace("SPIN_USER_HEADER(struct request);", "")
        .replace("spin_user_header(h)", "(void *)h->payload");
    let output = spindle(&["build", &folder.write("handler.c", &plain), "-o", &image]);
    assert!(output.status.success() && !words(&output).contains("user header"), "{}", words(&output));
    // Too long for any card, and two of them.
    let long = USER_HEADER.replace("rest[2]", "rest[118]");
    let output = spindle(&["build", &folder.write("handler.c", &long), "-o", &image]);
    assert!(
        !output.status.success() && words(&output).contains("a user header has 1 to 127 bytes"),
        "{}",
        words(&output)
    );
    let other = folder
        .write("other.c", "#include \"spindle.h\"\nstruct other { uint32_t x; };\nSPIN_USER_HEADER(struct other);\n");
    let output = spindle(&["build", &folder.write("handler.c", USER_HEADER), &other, "-o", &image]);
    assert!(!output.status.success() && words(&output).contains("more than one user header"), "{}", words(&output));
}

const TAILROOM: &str = "#include \"spin_printf.h\"\nSPIN_TAILROOM(100);\n\
    int header_handler(const spin_header_t *h, void *state) {\n\
        uint8_t *end = spin_packet(h) + spin_room(h);\n\
        printf(\"%u %u %u\\n\", h->packet_len, spin_room(h), end[-1]);\n\
        return SPIN_PROCESS_DATA;\n}\n";

#[test]
fn a_tailroom_is_declared_by_the_image() {
    let folder = Folder::new();
    let (source, image, json) = (folder.write("handler.c", TAILROOM), folder.path("h.elf"), folder.path("r.json"));
    for family in ["gcc", "clang"].into_iter().take(common::compilers().len()) {
        let output = spindle(&["build", &source, "-o", &image, "--json", &json, "--cc", family]);
        assert!(output.status.success() && !words(&output).contains("warning"), "{}", words(&output));
        assert!(words(&output).contains("tailroom: 100 bytes"), "{}", words(&output));
        let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(report["tailroom"], 100);
        let parsed = spindle::Image::parse(&std::fs::read(&image).unwrap()).unwrap();
        assert_eq!((parsed.tailroom, parsed.state.len()), (100, 0), "the declaration takes no memory of the card");
    }
    // Too large for any slot, and two of them.
    let large = TAILROOM.replace("(100)", "(1985)");
    let output = spindle(&["build", &folder.write("handler.c", &large), "-o", &image]);
    let refused = !output.status.success() && words(&output).contains("a tailroom has 1 to SPIN_TAILROOM_MAX bytes");
    assert!(refused, "{}", words(&output));
    let other = folder.write("other.c", "#include \"spindle.h\"\nSPIN_TAILROOM(64);\n");
    let output = spindle(&["build", &folder.write("handler.c", TAILROOM), &other, "-o", &image]);
    assert!(!output.status.success() && words(&output).contains("more than one tailroom"), "{}", words(&output));
}

#[test]
fn a_handler_has_the_tailroom_that_its_image_declares() {
    let folder = Folder::new();
    let frames = [60, 64, 1900, 2048].map(|length| udp(&Ends::default(), 1, 2, &vec![9; length - 42]));
    let (report, text) = folder.run(TAILROOM, &frames, &["--match", "udp", "--gap", "3000"]);
    assert_eq!(lines(&report), ["60 188 0", "64 192 0", "1900 2028 0", "2048 2048 9"], "{text}");
}

/// The header handler waits for the packet at offset 0, and reads the header there; a message without all of it fails.
#[test]
fn a_header_handler_reads_its_user_header() {
    let folder = Folder::new();
    let mut data = request(77, 5, 3);
    data.resize(4000, 0xee);
    let header = SpindleHeader { msg_id: 9, ..SpindleHeader::default() };
    let mut frames = put_message(&Ends::default(), 4795, &header, &data, 1408);
    // What the handler needs comes last.
    frames.reverse();
    let (report, text) = folder.run(USER_HEADER, &frames, &["--match", "spindle", "--messages", "--gap", "3000"]);
    assert_eq!(lines(&report), ["77 5 3 at 0"], "{text}");
    assert_eq!(report["handled"], frames.len());

    let frames = [request(1, 2, 3), request(4, 5, 6)[..11].to_vec(), request(7, 8, 9)];
    let frames = frames.map(|payload| udp(&Ends::default(), 1, 2, &payload));
    let (report, text) = folder.run(USER_HEADER, &frames, &[]);
    let mut found = lines(&report);
    found.sort_unstable();
    assert_eq!(found, ["1 2 3 at 0", "7 8 9 at 0"], "{text}");
    assert_eq!(report["dropped"]["handler_fail"], 1, "{text}");
}

/// A frame of which the handler sees 2,048 bytes is not sent unless it is allowed, and then the report warns.
#[test]
fn frames_that_are_seen_in_part_are_not_sent() {
    let folder = Folder::new();
    let frames = [100, 2006, 2007, 2900].map(|payload| udp(&Ends::default(), 1, 2, &vec![7; payload]));
    assert_eq!(frames[1].len(), 2048);
    let source = |send: &str| {
        format!(
            "#include \"spin_printf.h\"\nint header_handler(const spin_header_t *h, void *state) {{\n\
             printf(\"%u: %u\\n\", h->frame_len, (uint32_t){send}); return SPIN_PROCESS_DATA; }}\n"
        )
    };
    let lengths = || {
        let sent = capture::read(Path::new(&folder.path("out.pcap"))).unwrap();
        sent.iter().map(|packet| packet.bytes.len()).collect::<Vec<_>>()
    };
    let gap = ["--gap", "4000"];
    let whole = "spin_send_packet(spin_packet(h), h->packet_len)";
    let (report, text) = folder.run(&source(whole), &frames, &gap);
    assert_eq!(lines(&report), ["142: 0", "2048: 0", "2049: 1", "2942: 1"], "{text}");
    assert_eq!(lengths(), [142, 2048]);
    assert!(!text.contains("warning"), "{text}");
    // The end of the slot, from elsewhere than its start, is cut as well; a part that was seen may be sent.
    let (report, text) = folder.run(
        &source(
            "spin_send_packet(spin_packet(h) + 64, h->packet_len - 64) + 2 * spin_send_packet(spin_packet(h), 128)",
        ),
        &frames,
        &gap,
    );
    assert_eq!(lines(&report), ["142: 0", "2048: 0", "2049: 1", "2942: 1"], "{text}");
    assert_eq!(lengths(), [78, 128, 1984, 128, 128, 128]);
    assert!(!text.contains("warning"), "{text}");
    let allowed = "spin_send_packet_flags(spin_packet(h), h->packet_len, SPIN_SEND_UNSEEN)";
    let (report, text) = folder.run(&source(allowed), &frames, &gap);
    assert_eq!(lines(&report), ["142: 0", "2048: 0", "2049: 0", "2942: 0"], "{text}");
    assert_eq!(lengths(), [142, 2048, 2048, 2048]);
    assert!(text.contains("warning: 2 answers are the first 2048 bytes of longer frames"), "{text}");
    // PsPIN has no such result: its handlers send what they see, and the run warns.
    let pspin = "#include <handler.h>\nvoid ph(handler_args_t *args) { \
        spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, NULL); }\n\
        void init_handlers(handler_fn *h, handler_fn *p, handler_fn *t, void **m) { *p = ph; }\n";
    let (_, text) = folder.run(pspin, &frames, &["--gap", "4000", "--pspin"]);
    assert_eq!(lengths(), [142, 2048, 2048, 2048]);
    assert!(text.contains("warning: 2 answers are the first 2048 bytes of longer frames"), "{text}");
}

/// A header of the user's comes before one of the SDK of the same name, in each API.
#[test]
fn headers_of_the_user_come_first() {
    let folder = Folder::new();
    let headers = folder.path("headers");
    std::fs::create_dir(&headers).unwrap();
    let image = folder.path("h.elf");
    for (api, header) in [(None, "spin_printf.h"), (Some("--pspin"), "spin_dma.h"), (Some("--fpspin"), "packets.h")] {
        std::fs::write(Path::new(&headers).join(header), "#error this one comes first\n").unwrap();
        let source = folder.write("handler.c", &format!("#include <{header}>\n"));
        let arguments = ["build", &source, "-o", &image, "-I", &headers];
        let output = spindle(&[&arguments[..], &api.map_or(vec![], |api| vec![api])].concat());
        assert!(
            !output.status.success() && words(&output).contains("this one comes first"),
            "{api:?} {}",
            words(&output)
        );
    }
}

/// Signatures are prescribed, so what a handler does not use is no warning; a variable is.
#[test]
fn unused_parameters_are_no_warning() {
    let folder = Folder::new();
    let source = |body: &str| {
        format!("#include \"spindle.h\"\nint header_handler(const spin_header_t *h, void *state) {{ {body} return SPIN_DROP; }}\n")
    };
    let image = folder.path("h.elf");
    for (body, warns) in [("", false), ("int unused;", true)] {
        let output = spindle(&["build", &folder.write("handler.c", &source(body)), "-o", &image]);
        assert!(output.status.success() && words(&output).contains("unused") == warns, "{}", words(&output));
    }
}
