//! An independent judge: tshark reads the answers, checks their checksums and pairs them with their requests.

use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What tshark counts.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// UDP answers that match a request.
    pub udp: usize,
    /// Ping answers that match a request.
    pub pings: usize,
}

/// Judges the answers in `out`; `exchange` holds requests and answers in order of time.
///
/// # Errors
/// tshark is missing; a checksum is not good; an answer has no request; a request has no answer.
pub fn answers(exchange: &Path, out: &Path) -> Result<Verdict> {
    for row in
        fields(out, "ip", &["frame.number", "ip.checksum.status", "udp.checksum.status", "icmp.checksum.status"])?
    {
        // 1 is good, 3 is absent (a UDP checksum of 0); a protocol that is not in the frame leaves its column empty.
        let good = row[1] == "1" && ["1", "3", ""].contains(&row[2].as_str()) && ["1", ""].contains(&row[3].as_str());
        ensure!(
            good,
            "tshark finds a bad checksum in answer {} (IPv4 {}, UDP {}, ICMP {})",
            row[0],
            row[1],
            row[2],
            row[3]
        );
    }
    Ok(Verdict { udp: udp(exchange, out)?, pings: pings(exchange)? })
}

/// Requests and answers of pings, as tshark pairs them.
fn pings(exchange: &Path) -> Result<usize> {
    let rows = fields(
        exchange,
        "icmp.type == 8 || icmp.type == 0",
        &["frame.number", "icmp.type", "icmp.resp_to", "icmp.resp_in"],
    )?;
    let mut paired = 0;
    for row in rows {
        match row[1].as_str() {
            "8" => ensure!(!row[3].is_empty(), "tshark finds no answer to the ping in frame {}", row[0]),
            _ => {
                ensure!(!row[2].is_empty(), "tshark finds no ping that frame {} answers", row[0]);
                paired += 1;
            }
        }
    }
    Ok(paired)
}

/// UDP: the answers must be the requests with both ends exchanged.
fn udp(exchange: &Path, out: &Path) -> Result<usize> {
    const FIELDS: [&str; 7] = ["eth.src", "eth.dst", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.payload"];
    let answers = fields(out, "udp && !icmp", &FIELDS)?;
    let mut balance: BTreeMap<Vec<String>, i64> = BTreeMap::new();
    for row in fields(exchange, "udp && !icmp", &FIELDS)? {
        *balance.entry(row).or_default() += 1;
    }
    // The exchange holds the answers too: the remaining frames are the requests.
    for row in &answers {
        *balance.entry(row.clone()).or_default() -= 1;
    }
    for row in &answers {
        let mut turned = row.clone();
        (0..6).step_by(2).for_each(|i| turned.swap(i, i + 1));
        let left = balance.entry(turned).or_default();
        *left -= 1;
        ensure!(
            *left >= 0,
            "tshark finds no request for the UDP answer from {}:{} to {}:{}",
            row[2],
            row[4],
            row[3],
            row[5]
        );
    }
    if let Some((row, _)) = balance.iter().find(|(_, left)| **left > 0) {
        bail!("tshark finds no answer to the UDP packet from {}:{} to {}:{}", row[2], row[4], row[3], row[5]);
    }
    Ok(answers.len())
}

/// Runs tshark over a capture: the fields of every frame that passes the filter.
fn fields(capture: &Path, filter: &str, names: &[&str]) -> Result<Vec<Vec<String>>> {
    let program = std::env::var_os("SPINDLE_TSHARK").unwrap_or_else(|| "tshark".into());
    let mut command = Command::new(&program);
    // Two passes: a request knows its answer only once that has been read.
    command.args([
        "-2",
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-E",
        "occurrence=f",
    ]);
    command.args(names.iter().flat_map(|name| ["-e", name])).arg("-Y").arg(filter).arg("-r").arg(capture);
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("tshark is not installed; run `apt-get install tshark` as root, or name it in SPINDLE_TSHARK")
        }
        other => other.context("cannot run tshark")?,
    };
    ensure!(output.status.success(), "tshark says:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Vec<String>> = text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect();
    if let Some(row) = rows.iter().find(|row| row.len() != names.len()) {
        bail!("tshark gave {} columns instead of {}; it may be of another version", row.len(), names.len());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_cli::check::{predict, Expected};
    use spindle_contract::reasons;
    use spindle_model::frames::{echo_request, udp, Ends};
    use spindle_model::handlers::{by_name, Circumstances, Outcome};
    use spindle_sim::capture::{self, Captured};
    use std::time::Duration;

    /// Requests in, answers by the models: what tshark makes of them.
    fn judged(requests: &[Vec<u8>], answers: &[Vec<u8>]) -> Result<Verdict> {
        let folder = tempfile::tempdir().unwrap();
        let packets = |frames: &[Vec<u8>], at: u64| -> Vec<Captured> {
            let time = |i: usize| Duration::from_micros(at + i as u64);
            frames.iter().enumerate().map(|(i, bytes)| Captured { time: time(i), bytes: bytes.clone() }).collect()
        };
        let (exchange, out) = (folder.path().join("exchange.pcap"), folder.path().join("out.pcap"));
        capture::write(&out, &packets(answers, 5000)).unwrap();
        capture::write(&exchange, &[packets(requests, 0), packets(answers, 5000)].concat()).unwrap();
        super::answers(&exchange, &out)
    }

    /// The models themselves are judged, on real traffic.
    #[test]
    fn tshark_agrees_with_the_models_on_the_projects_capture() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/kernel.pcap");
        let requests: Vec<Vec<u8>> = capture::read(&path).unwrap().into_iter().map(|packet| packet.bytes).collect();
        let rules: Vec<[spindle::Rule; 1]> = vec![["udp".parse().unwrap()], ["icmp.type == 8".parse().unwrap()]];
        let handlers: Vec<_> = ["ping_pong", "icmp_echo"]
            .iter()
            .zip(&rules)
            .map(|(name, rules)| Expected { rules, model: by_name(name).unwrap(), host_bytes: 0 })
            .collect();
        let expectation = predict(&handlers, &requests, &vec![0; requests.len()]);
        let answers: Vec<Vec<u8>> = expectation.answers.into_iter().flatten().collect();
        let verdict = judged(&requests, &answers).unwrap();
        assert_eq!(verdict.udp + verdict.pings, answers.len());
        assert!(verdict.udp > 50 && verdict.pings > 30, "{verdict:?}");
        let dropped: u32 = expectation.drops.iter().sum();
        assert_eq!(expectation.drops[reasons::NO_RULE], dropped, "the capture has no malformed frame");
        assert_eq!(answers.len() + dropped as usize, requests.len());
    }

    /// tshark itself, on answers that are right, and on each kind of wrong one.
    #[test]
    fn tshark_tells_right_from_wrong() {
        let ends = Ends::default();
        let requests =
            [udp(&ends, 40000, 9, b"data"), echo_request(&ends, 7, 1, b"ping"), udp(&ends, 40000, 9000, b"")];
        let circumstances = Circumstances { number: 0, host_bytes: 0 };
        let answers: Vec<Vec<u8>> = requests
            .iter()
            .zip(["ping_pong", "icmp_echo", "ping_pong"])
            .map(|(frame, name)| match by_name(name).unwrap()(frame, circumstances) {
                Outcome::Answer(bytes) => bytes,
                other => panic!("{other:?}"),
            })
            .collect();
        let judge = |answers: &[Vec<u8>]| judged(&requests, answers);
        assert_eq!(judge(&answers).unwrap(), Verdict { udp: 2, pings: 1 });
        for (frame, at) in [(0, 45), (1, 45), (0, 36), (1, 36), (0, 30)] {
            let mut wrong = answers.clone();
            wrong[frame][at] ^= 1;
            assert!(judge(&wrong).unwrap_err().to_string().contains("checksum"), "frame {frame} byte {at}");
        }
        assert!(judge(&answers[..2]).unwrap_err().to_string().contains("no answer to the UDP"));
        assert!(judge(&[answers[0].clone(), answers[2].clone()])
            .unwrap_err()
            .to_string()
            .contains("no answer to the ping"));
        assert!(judge(&[answers.clone(), vec![answers[0].clone()]].concat())
            .unwrap_err()
            .to_string()
            .contains("no request"));
    }
}
