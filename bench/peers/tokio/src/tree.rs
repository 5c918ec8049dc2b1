//! A tree with eight children each, once bare, once with a task waiting on each token. The gate is closed when
//! `cancel` returns: every token is cancelled then. The tree has settled when every task has ended.
//!
//! One thread runs all tasks: with two, each figure is worse.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{one_thread, per_item, report, resident};

pub fn measure(count: usize) {
    close_bare(count);
    one_thread().block_on(settle(count));
}

fn close_bare(count: usize) {
    let mut tokens = vec![CancellationToken::new()];
    for i in 1..count {
        tokens.push(tokens[(i - 1) / 8].child_token());
    }
    let begin = Instant::now();
    tokens[0].cancel();
    let closed = begin.elapsed();
    assert!(tokens.iter().all(CancellationToken::is_cancelled));
    report(
        "stop_gate_1m",
        &format!("tree of 8, {count}"),
        closed.as_nanos() as f64 / 1e3,
        "us",
        "tokio tokens",
    );
}

static WAITING: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Spawns the task at place `i` of a tree of `count`, and all below it.
fn grow(tasks: &TaskTracker, i: usize, count: usize, token: CancellationToken) {
    for child in 8 * i + 1..count.min(8 * i + 9) {
        grow(tasks, child, count, token.child_token());
    }
    tasks.spawn(async move {
        WAITING.fetch_add(1, Ordering::Relaxed);
        token.cancelled().await;
        ENDED.fetch_add(1, Ordering::Relaxed);
    });
}

async fn settle(count: usize) {
    let tasks = TaskTracker::new();
    let root = CancellationToken::new();
    let memory = resident();
    let begin = Instant::now();
    grow(&tasks, 0, count, root.clone());
    let created = begin.elapsed();
    while WAITING.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
    let grown = resident() - memory;

    let begin = Instant::now();
    root.cancel();
    tasks.close();
    tasks.wait().await;
    let settled = begin.elapsed();
    assert_eq!(ENDED.load(Ordering::Relaxed), count);

    let peer = "tokio task + token";
    report(
        "settle_1m",
        &format!("tree of 8, {count}"),
        per_item(settled, count),
        "ns/agent",
        peer,
    );
    report(
        "idle_bytes",
        &count.to_string(),
        grown as f64 / count as f64,
        "bytes",
        peer,
    );
    report(
        "create",
        &count.to_string(),
        per_item(created, count),
        "ns",
        peer,
    );
}
