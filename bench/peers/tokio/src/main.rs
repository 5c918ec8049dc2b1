//! What tokio offers for the same work.
//!
//!     peer_tokio tree [AGENTS]     a tree of cancellation tokens, bare, and with a task waiting on each
//!     peer_tokio send              one message at a time to a task
//!     peer_tokio fan [AGENTS]      one message to each of many tasks

mod messages;
mod tree;

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

fn one_thread() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

/// Resident memory, bytes.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has this file");
    let pages = statm.split(' ').nth(1).expect("it has seven numbers");
    pages.parse::<usize>().expect("they are decimal") * PAGE
}

fn report(id: &str, variant: &str, value: f64, unit: &str, peer: &str) {
    let figure = format!(r#""id": "{id}", "variant": "{variant}", "value": {value:.4}"#);
    println!(r#"{{{figure}, "unit": "{unit}", "peer": "{peer}"}}"#);
}

fn per_item(elapsed: Duration, items: usize) -> f64 {
    elapsed.as_nanos() as f64 / items as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count = arguments
        .get(2)
        .map_or(1_000_000, |text| text.parse().expect("AGENTS is a number"));
    match arguments.get(1).map(String::as_str) {
        Some("tree") => tree::measure(count),
        Some("send") => messages::measure_send(),
        Some("fan") => messages::measure_fan(count),
        _ => {
            eprintln!("usage: peer_tokio tree|send|fan [AGENTS]");
            std::process::exit(2);
        }
    }
}
