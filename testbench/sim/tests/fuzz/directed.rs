//! What fuzzing has found, one test each.

use spindle_sim::capture::{write_to, Annotated, Format};
use std::time::Duration;

/// A time stamp of pcapng has 64 bits for nanoseconds; what is later was written as another time.
#[test]
fn a_time_that_a_capture_cannot_hold_is_refused() {
    for (format, last) in
        [(Format::Pcap, Duration::new(u32::MAX.into(), 999_999_999)), (Format::PcapNg, Duration::from_nanos(u64::MAX))]
    {
        let written = |time: Duration| {
            let packet = Annotated { time, bytes: &[0; 60], comment: None };
            write_to(&mut Vec::new(), format, None, [packet])
        };
        written(last).unwrap();
        let error = written(last + Duration::from_nanos(1)).unwrap_err().to_string();
        assert!(error.contains("packet 1") && error.contains("time"), "{}: {error}", format.name());
    }
}
