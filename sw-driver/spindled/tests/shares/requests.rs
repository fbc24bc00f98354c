//! The administrator's card, and requests in JSON.

use crate::setup::{soon, Setup};
use serde_json::{json, Value};
use spindle::{open, Bar, Device, Node};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::registers::{doorbell, global, node, rvma, PAGE};
use spindled::Quota;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn ask(stream: &UnixStream, request: &Value) -> Value {
    (&*stream).write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn connect(setup: &Setup) -> UnixStream {
    let stream = UnixStream::connect(setup.path("control.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

#[test]
fn questions_are_answered_and_the_card_is_set_up() {
    let setup = Setup::new(Quota::default());
    let control = connect(&setup);
    let identity = ask(&control, &json!({ "request": "identify" }));
    assert_eq!(identity["ok"]["transport"], "vfio-user");
    assert_eq!(identity["ok"]["station"], Value::Null);
    let port = || setup.model.0.lock().unwrap().registers.get(&(node::BASE + node::NODE_PORT)).copied();
    soon("the node of the command line has the ICRC", || port() == Some(0x8003_0000 | u32::from(SPINDLE_PORT)));
    let station = json!({ "request": "set_station", "nid": 5, "mac": "02:00:00:00:00:05", "ip": "10.0.0.5" });
    assert_eq!(ask(&control, &station), json!({ "ok": {} }));
    let other = json!({ "request": "set_node", "number": 2, "mac": "02:00:00:00:00:02", "ip": "10.0.0.2" });
    assert_eq!(ask(&control, &other), json!({ "ok": {} }));
    assert_eq!(ask(&control, &json!({ "request": "identify" }))["ok"]["station"]["ip"], "10.0.0.5");
    let checked =
        json!({ "request": "set_node", "number": 3, "mac": "02:00:00:00:00:03", "ip": "10.0.0.3", "icrc": true });
    soon("the first node has no ICRC", || port() == Some(0x8000_0000 | u32::from(SPINDLE_PORT)));
    assert_eq!(ask(&control, &checked), json!({ "ok": {} }));
    soon("the second one has", || port() == Some(0x8003_0000 | u32::from(SPINDLE_PORT)));
    let nodes = ask(&control, &json!({ "request": "nodes" }));
    let shown = [0, 1].map(|n| (nodes["ok"][n]["number"].clone(), nodes["ok"][n]["icrc"].clone()));
    assert_eq!(shown, [(json!(2), json!(false)), (json!(3), json!(true))]);
    let local = || setup.model.0.lock().unwrap().registers.get(&(node::BASE + node::LOCAL_NID)).copied();
    soon("the card has its number: writes are posted", || local() == Some(5));
    assert!(ask(&control, &json!({ "request": "stats" }))["ok"]["mailboxes"].is_u64());

    let (share, process) = setup.share();
    let processes = ask(&control, &json!({ "request": "processes" }));
    assert_eq!(processes["ok"][0]["process"], process);
    assert_eq!(processes["ok"][0]["pid"], std::process::id());
    assert_eq!(ask(&control, &json!({ "request": "evict", "process": process })), json!({ "ok": {} }));
    let mut bar = share.bar.clone();
    soon("the client is out", || bar.read32(0).is_err());
    assert!(ask(&control, &json!({ "request": "evict", "process": process }))["error"].is_string());
}

#[test]
fn what_is_no_request_is_a_sentence_or_the_end() {
    let setup = Setup::new(Quota::default());
    let control = connect(&setup);
    for request in [json!({}), json!(7), json!({ "request": "format" }), json!({ "request": "evict" })] {
        let error = ask(&control, &request)["error"].as_str().unwrap().to_string();
        assert!(error.contains("identify"), "{error}");
    }
    let bad =
        json!({ "request": "set_node", "number": 100_000, "mac": "02:00:00:00:00:02", "ip": "10.0.0.2", "port": 1 });
    assert!(ask(&control, &bad)["error"].as_str().unwrap().contains("node table"));
    let _ = (&control).write_all(&vec![b'x'; 100_000]);
    let mut line = String::new();
    assert!(matches!(BufReader::new(&control).read_line(&mut line), Ok(0) | Err(_)), "a line without an end");
    drop(UnixStream::connect(setup.path("control.sock")).unwrap());
    assert!(ask(&connect(&setup), &json!({ "request": "identify" }))["ok"].is_object());
}

#[test]
fn the_administrator_has_the_card_but_for_what_keeps_clients_apart() {
    let setup = Setup::new(Quota::default());
    let (mut share, p) = setup.share();
    let window = share.init_window(p, 1, 0, 64).unwrap();
    let card = open(&format!("unix:{}", setup.path("admin.sock").display())).unwrap();
    assert_eq!(card.lock().process(), None);
    let second = open(&format!("unix:{}", setup.path("admin.sock").display())).unwrap_err().to_string();
    assert!(second.contains("in use"), "{second}");
    let mut admin = Device::attach(card.clone(), card).unwrap();
    admin.set_node(3, Some(Node { mac: [2; 6], ip: [10, 0, 0, 3], port: 9 })).unwrap();
    admin.set_receive(true).unwrap();
    let page = |process: usize, register: u32| doorbell::BASE + process as u32 * PAGE + register;
    let guarded = [
        global::BASE + global::RESET,
        rvma::BASE + rvma::UNCHECKED,
        rvma::BASE + rvma::REGION_COMMIT,
        page(p, doorbell::MAILBOX),
        page(p, doorbell::COMMAND),
    ];
    let read = |address: u32| setup.model.0.lock().unwrap().registers.get(&address).copied();
    let before = guarded.map(read);
    for register in guarded {
        admin.bar.write32(register, u32::MAX).unwrap();
    }
    admin.bar.read32(0).unwrap();
    assert_eq!(guarded.map(read), before);
    assert_eq!(read(node::BASE + node::NODE_IP), Some(u32::from_be_bytes([10, 0, 0, 3])));
    // Its own process is confined as any other.
    let own = admin.init_window(0, 2, 0, 64).unwrap();
    admin.post_buffer(own, 64).unwrap();
    let lost = spindle::rvma::Posted { buffer: spindled::card::window(p).start, size: 64, record: 0 };
    assert!(admin.post(own, lost).is_err());
    drop(admin);
    soon("the administrator's windows are closed", || {
        setup.model.0.lock().unwrap().mailboxes.keys().eq([&window.mailbox])
    });
}
