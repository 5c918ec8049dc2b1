// One event stream for all tabs of the browser. The tab that holds the lock leads: it has the stream, and passes each event on to the other
// tabs over a BroadcastChannel. Each tab says which agents it wants the streaming text of, and up to which event it has come.
//
// A leader that the browser has frozen gives no sign of life: then a tab in view takes the lock from it.
// Nothing is lost when the leader changes: the new leader begins after the smallest position of all tabs, and each tab drops what it knows.
// Without locks or channels (old browsers, pages that are not secure) each tab has a stream of its own.

import {afterQuiet} from './dom.js';
import {isAfter, lastEventId, parseId, receive} from './intake.js';
import {Stream} from './stream.js';

const name = 'agentcore-console';
const me = Math.random().toString(36).slice(2);
const rollCallTimeout = 120;  // ms for the answers to a roll call
const signEvery = 3000;    // ms between the signs of life of the leader
const silenceMost = 10000; // ms without a sign, after which a tab in view takes the lead

const shared = Boolean(navigator.locks && window.BroadcastChannel);
const channel = shared ? new BroadcastChannel(name) : null;
const tabs = new Map(); // of the leader: tab -> {texts, position}
let leading = false;
let started = false;    // of the leader: the stream was opened
let begun = null;       // of the leader: everything after this event was passed on
let texts = [];
let handlers = {onStatus() {}, onTexts() {}};
let lastSign = 0;
let waitingForLock = null; // an AbortController

const stream = new Stream({
  onEvent(id, event) {
    channel?.postMessage({kind: 'event', id, event});
    receive(id, event);
  },
  onStatus(connected) { broadcast({kind: 'status', connected}); },
  onOpen(after) { broadcast({kind: 'texts', texts: stream.texts, after}); },
});

// Sends a message to the other tabs, and takes it here as well.
function broadcast(message) {
  channel?.postMessage(message);
  take(message);
}

function take(message) {
  lastSign = performance.now();
  switch (message.kind) {
    case 'event': return receive(message.id, message.event);
    case 'status': return handlers.onStatus(message.connected);
    case 'texts': return handlers.onTexts(message.texts, message.after);
    case 'roll-call': return introduce();
    case 'tab': return leading && enter(message);
    case 'bye': return leading && leave(message.tab);
    default: return undefined;
  }
}

// `missed` is true if this tab may not have received what the leader passed on.
function introduce(missed = false) {
  const message = {kind: 'tab', tab: me, texts, position: lastEventId(), missed};
  channel?.postMessage(message);
  if (leading) enter(message);
}

function enter({tab, texts: wanted, position, missed}) {
  tabs.set(tab, {texts: wanted, position});
  if (!started) return;
  if (position && begun && (missed ? isAfter(stream.last, position) : isAfter(begun, position))) reopen(position);
  else if (union().join('\n') !== [...stream.texts].sort().join('\n')) reopen(stream.last);
  else if (tab !== me) broadcast({kind: 'status', connected: stream.connected});
}

function leave(tab) {
  tabs.delete(tab);
  if (started) changeTexts();
}

const union = () => [...new Set([...tabs.values()].flatMap((tab) => tab.texts))].sort();

const changeTexts = afterQuiet(60, () => {
  if (started && union().join('\n') !== [...stream.texts].sort().join('\n')) reopen(stream.last);
});

function reopen(after) {
  if (parseId(begun)?.epoch !== parseId(after)?.epoch || isAfter(begun, after)) begun = after;
  stream.open(after, union());
}

function lead() {
  leading = true;
  introduce();
  channel?.postMessage({kind: 'roll-call'});
  setTimeout(() => {
    if (!leading) return;
    started = true;
    let smallest = lastEventId();
    for (const {position} of tabs.values()) if (position && isAfter(smallest, position)) smallest = position;
    reopen(smallest);
  }, shared ? rollCallTimeout : 0);
}

function follow() {
  leading = false;
  started = false;
  begun = null;
  tabs.clear();
  stream.close();
  introduce(true);
}

// Waits for the lock, or takes it from the tab that has it. A tab from which it is taken waits again.
function compete(steal = false) {
  waitingForLock?.abort();
  const waiting = waitingForLock = new AbortController();
  const options = steal ? {steal: true} : {signal: waiting.signal};
  navigator.locks.request(name + '-leader', options, () => {
    lead();
    return new Promise(() => {});
  }).catch(() => {
    if (waiting !== waitingForLock) return;
    follow();
    compete();
  });
}

function watchLeader() {
  if (leading) channel.postMessage({kind: 'alive'});
  else if (document.visibilityState === 'visible' && performance.now() - lastSign > silenceMost) {
    lastSign = performance.now();
    compete(true);
  }
}

// A tab that crashed said no goodbye: its lock is free.
async function sweep() {
  if (!leading) return;
  const {held} = await navigator.locks.query();
  const alive = new Set(held.map((lock) => lock.name));
  for (const tab of [...tabs.keys()]) if (tab !== me && !alive.has(name + '-tab-' + tab)) leave(tab);
}

// Begins to take part. The tree must have been loaded; events that other tabs pass on are taken from the first line of this module on.
export function share(given) {
  handlers = given;
  if (!shared) {
    lead();
    return;
  }
  navigator.locks.request(name + '-tab-' + me, () => new Promise(() => {}));
  lastSign = performance.now();
  compete();
  introduce();
  addEventListener('pagehide', () => channel.postMessage({kind: 'bye', tab: me}));
  document.addEventListener('resume', () => introduce(true));
  setInterval(sweep, 30000);
  setInterval(watchLeader, signEvery);
}

if (channel) channel.onmessage = (message) => take(message.data);

// The agents whose streaming text this tab wants.
export function wantTexts(ids) {
  texts = ids;
  introduce();
}

// After everything was loaded again: the stream continues from there.
export function restartFrom(position) {
  if (leading && started) reopen(position);
  else introduce();
}

export const sharing = {isLeader: () => leading, texts: () => [...stream.texts], wanted: () => [...texts]};
