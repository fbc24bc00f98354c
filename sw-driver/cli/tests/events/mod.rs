//! Events of a timeline, parsed and checked.
#![allow(dead_code, reason = "no test that shares this file uses all of it")]

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Processes of a timeline.
pub const WIRE: u64 = 1;
pub const PACKETS: u64 = 2;
pub const RVMA: u64 = 3;
pub const MAILBOXES: u64 = 4;
pub const CLUSTERS: u64 = 10;

/// Process and thread.
pub type Track = (u64, u64);

/// Events of a timeline, after checks that hold for every timeline.
pub struct Events {
    /// All events.
    pub events: Vec<Value>,
    /// Slices by track: start and end in nanoseconds, name.
    pub slices: BTreeMap<Track, Vec<(u64, u64, String)>>,
    /// Names of the tracks.
    pub names: HashMap<Track, String>,
}

fn nanoseconds(value: &Value) -> u64 {
    let exact = value.as_f64().unwrap() * 1000.0;
    assert!((exact - exact.round()).abs() < 1e-3, "{value} is no whole number of nanoseconds");
    exact.round() as u64
}

impl Events {
    /// Parses a timeline: slices nest, every track has a name, every flow has a start and an end in slices.
    pub fn parse(text: &str) -> Events {
        let timeline: Value = serde_json::from_str(text).unwrap();
        assert_eq!(timeline["displayTimeUnit"], "ns");
        let events = timeline["traceEvents"].as_array().unwrap().clone();
        let track = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let mut slices: BTreeMap<Track, Vec<_>> = BTreeMap::new();
        let (mut names, mut processes, mut flows) = (HashMap::new(), HashMap::new(), BTreeMap::<u64, Vec<_>>::new());
        for event in &events {
            let name = event["name"].as_str().unwrap().to_owned();
            match event["ph"].as_str().unwrap() {
                "X" => {
                    let start = nanoseconds(&event["ts"]);
                    slices.entry(track(event)).or_default().push((start, start + nanoseconds(&event["dur"]), name));
                }
                "M" => {
                    let text = event["args"]["name"].as_str().unwrap_or_default().to_owned();
                    match name.as_str() {
                        "thread_name" => assert_eq!(names.insert(track(event), text), None),
                        "process_name" => assert_eq!(processes.insert(track(event).0, text), None),
                        _ => {}
                    }
                }
                ph @ ("s" | "t" | "f") => flows.entry(event["id"].as_u64().unwrap()).or_default().push((
                    nanoseconds(&event["ts"]),
                    ph.to_owned(),
                    track(event),
                )),
                other => assert_eq!(other, "i"),
            }
        }
        for (track, slices) in &mut slices {
            assert!(names.contains_key(track) && processes.contains_key(&track.0), "track {track:?} has no name");
            // Longer slices first: a slice is inside every slice that is still open, or starts after its end.
            slices.sort_by_key(|(start, end, _)| (*start, u64::MAX - *end));
            let mut open: Vec<u64> = Vec::new();
            for (start, end, name) in slices {
                open.retain(|until| until > start);
                assert!(
                    open.iter().all(|until| *end <= *until),
                    "{name} at {start} crosses a slice of {}",
                    names[track]
                );
                open.push(*end);
            }
        }
        for (id, steps) in &flows {
            let order: String = steps.iter().map(|(_, ph, _)| ph.as_str()).collect();
            assert!(["sf", "stf"].contains(&order.as_str()), "flow {id} is {order}");
            assert!(steps.is_sorted_by_key(|(time, _, _)| *time), "flow {id} goes back in time");
            for (time, _, track) in steps {
                let bound = slices[track].iter().any(|(start, end, _)| start <= time && time < end);
                assert!(bound, "flow {id} has no slice at {time} on {}", names[track]);
            }
        }
        Events { events, slices, names }
    }

    /// Number of slices with this name on tracks of this process.
    pub fn count(&self, pid: u64, name: &str) -> u64 {
        let tracks = self.slices.iter().filter(|((process, _), _)| *process == pid);
        tracks.flat_map(|(_, slices)| slices).filter(|(_, _, found)| found == name).count() as u64
    }

    /// Flows of this name.
    pub fn flows(&self, name: &str) -> u64 {
        self.events.iter().filter(|event| event["ph"] == "s" && event["name"] == name).count() as u64
    }

    /// Every stage has as many slices as the report counts, and its slowest slice takes as long as the report has it.
    pub fn assert_stages(&self, report: &Value) {
        for stage in report["stages"].as_array().unwrap() {
            let name = stage["stage"].as_str().unwrap();
            assert_eq!(self.count(PACKETS, name), stage["cycles"]["count"].as_u64().unwrap(), "{name}");
            let slices = self.slices.iter().filter(|((pid, _), _)| *pid == PACKETS).flat_map(|(_, slices)| slices);
            let longest =
                slices.filter(|(_, _, found)| found == name).map(|(start, end, _)| end - start).max().unwrap();
            // 250 MHz.
            assert_eq!(longest, 4 * stage["cycles"]["max"].as_u64().unwrap(), "{name}");
        }
    }
}
