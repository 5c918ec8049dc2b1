// What Node offers for the same work: fetch, with an AbortController for each stream.
//
//   node --expose-gc streams.mjs PORT RECORD STREAMS SECONDS STOPS
import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const [port, recordPath] = process.argv.slice(2, 4);
const [streams, seconds, stops] = process.argv.slice(4).map(Number);
const url = `http://127.0.0.1:${port}/chat/completions`;

// The server's record; bench/stream_record.hpp has its layout.
const recordFile = fs.openSync(recordPath, 'r');
const readWords = (first, count) => {
  const bytes = Buffer.alloc(8 * count);
  fs.readSync(recordFile, bytes, 0, bytes.length, 8 * first);
  return new BigUint64Array(bytes.buffer, bytes.byteOffset, count);
};
const opened = () => Number(readWords(0, 1)[0]);
const closed = () => Number(readWords(1, 1)[0]);
const seen = () => readWords(4, 65536);

const now = () => process.hrtime.bigint();  // CLOCK_MONOTONIC
// Memory that only this process has, without the pages of files.
const resident = () => {
  const [, pages, shared] = fs.readFileSync('/proc/self/statm', 'utf8').split(' ').map(Number);
  return 4096 * (pages - shared);
};
const report = (id, detail, value, unit) =>
  console.log(JSON.stringify({ id, variant: `${streams}${detail}`, value, unit, peer: 'Node fetch' }));
const quantile = (samples, share) =>
  samples.sort((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(share * samples.length))];

async function until(what, done) {
  for (const end = Date.now() + 60_000; !done(); await pause(1)) {
    if (Date.now() < end) continue;
    console.error(`gave up: ${what}`);
    process.exit(4);  // slow, not wrong
  }
}

const controllers = [];
let chunks = 0;

async function open(stream) {
  const controller = (controllers[stream] = new AbortController());
  const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"stream ${stream}"}]}`;
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal: controller.signal });
    for await (const bytes of response.body) {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = piece.indexOf('\n\n'); at >= 0; at = piece.indexOf('\n\n', at + 2)) ++chunks;
    }
  } catch (error) {
    if (error.name !== 'AbortError') console.error(error);
  }
}

async function openAll() {
  let asked = 0;
  await until('opening streams', () => {
    for (const there = opened(); asked < streams && asked - there < 400; ++asked) open(asked);
    return opened() === streams;
  });
}

async function receive() {
  const chunksBefore = chunks;
  const before = process.cpuUsage();
  await pause(seconds * 1000);
  const spent = process.cpuUsage(before);
  report('chunk_cpu', '', (spent.user + spent.system) / (chunks - chunksBefore), 'us');
}

async function stopSome(order) {
  const called = [];
  for (const stream of order) {
    await pause(3);
    called.push(now());
    controllers[stream].abort();
  }
  await until('single stops', () => closed() >= order.length);
  const ends = seen();
  const samples = order.map((stream, i) => Number(ends[stream] - called[i]) / 1e3);
  report('stop_wire', ', median', quantile(samples, 0.5), 'us');
  report('stop_wire', ', p99', quantile(samples, 0.99), 'us');
}

async function stopAll(order) {
  const called = now();
  for (const stream of order) controllers[stream].abort();
  await until('stopping all', () => closed() === streams);
  const ends = seen();
  const last = order.reduce((latest, stream) => (ends[stream] > latest ? ends[stream] : latest), called);
  report('stop_wire_all', '', Number(last - called) / 1e6, 'ms');
}

function shuffled() {
  const order = [...Array(streams).keys()];
  for (let i = streams - 1; i > 0; --i) {
    const j = Math.floor(Math.random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

globalThis.gc?.();
const before = resident();
await openAll();
globalThis.gc?.();
report('stream_bytes', '', (resident() - before) / streams, 'bytes');
await receive();
const order = shuffled();
await stopSome(order.slice(0, stops));
await stopAll(order.slice(stops));
process.exit(0);
