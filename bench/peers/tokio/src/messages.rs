//! Messages by bounded channels, which are the mailboxes of tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::{one_thread, per_item, report};

struct Message {
    text: &'static str,
    _rest: [u64; 5],
}

impl Message {
    fn new() -> Self {
        Message {
            text: "x",
            _rest: [0; 5],
        }
    }
}

async fn send(mailbox: &mpsc::Sender<Message>) {
    assert!(
        mailbox.send(Message::new()).await.is_ok(),
        "the receiver has ended"
    );
}

/// One task sends, another one handles. With two threads the runtime decides which of them runs a task.
pub fn measure_send() {
    time_channel("one thread", one_thread());
    let two_threads = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    time_channel("other thread", two_threads);
}

fn time_channel(variant: &str, runtime: Runtime) {
    const MESSAGES: usize = 2_000_000;
    let (sender, mailbox) = mpsc::channel(MAILBOX);
    let begin = Instant::now();
    runtime.spawn(async move {
        for _ in 0..MESSAGES {
            send(&sender).await;
        }
    });
    let receiver = runtime.spawn(handle(mailbox));
    let handled = runtime.block_on(receiver).expect("the task ends");
    let elapsed = begin.elapsed();
    assert_eq!(handled, MESSAGES);
    report(
        "send",
        variant,
        per_item(elapsed, MESSAGES),
        "ns",
        "tokio mpsc",
    );
}

const MAILBOX: usize = 1024;

/// Takes all that waits at a time, which is quicker than one message at a time.
async fn handle(mut mailbox: mpsc::Receiver<Message>) -> usize {
    let mut bytes = 0;
    let mut waiting = Vec::with_capacity(MAILBOX);
    while mailbox.recv_many(&mut waiting, MAILBOX).await > 0 {
        bytes += waiting
            .drain(..)
            .map(|message| message.text.len())
            .sum::<usize>();
    }
    bytes
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);

/// A task and a channel for each agent, one thread, one message to each in turn.
pub fn measure_fan(count: usize) {
    one_thread().block_on(async {
        let mailboxes: Vec<_> = (0..count).map(|_| spawn_counter()).collect();
        fan_round(&mailboxes).await; // a warm-up
        let mut rounds = [
            fan_round(&mailboxes).await,
            fan_round(&mailboxes).await,
            fan_round(&mailboxes).await,
        ];
        rounds.sort_by(f64::total_cmp);
        report(
            "send_fan",
            &count.to_string(),
            rounds[1],
            "ns",
            "tokio mpsc",
        );
    });
}

fn spawn_counter() -> mpsc::Sender<Message> {
    let (sender, mut mailbox) = mpsc::channel::<Message>(8);
    tokio::spawn(async move {
        while let Some(message) = mailbox.recv().await {
            HANDLED.fetch_add(message.text.len(), Ordering::Relaxed);
        }
    });
    sender
}

/// Nanoseconds per message. After each 128 sends the runtime lets the receivers run.
async fn fan_round(mailboxes: &[mpsc::Sender<Message>]) -> f64 {
    HANDLED.store(0, Ordering::Relaxed);
    let begin = Instant::now();
    for mailbox in mailboxes {
        send(mailbox).await;
    }
    while HANDLED.load(Ordering::Relaxed) < mailboxes.len() {
        tokio::task::yield_now().await;
    }
    let elapsed = begin.elapsed();
    assert_eq!(HANDLED.load(Ordering::Relaxed), mailboxes.len());
    per_item(elapsed, mailboxes.len())
}
