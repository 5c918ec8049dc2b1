// The order of things: the tree is loaded, then each event of the server is applied exactly once.
//
// The position is the id of the last event that is part of what is shown. While the tree is loaded, events wait; then those above the
// position are applied. An event whose number is not above the position is dropped. `reset` loads everything again.

import {get} from './api.js';
import {notify} from './bus.js';
import {applyEvent, beginReload, endReload, upsert} from './store.js';

let position = null;  // {epoch, n}
let buffer = [];      // events that wait for a load, or null
let applied = 0;
let dropped = 0;
let afterLoad = () => {};

export function parseId(id) {
  const dash = (id ?? '').lastIndexOf('-');
  const n = dash < 0 ? NaN : Number(id.slice(dash + 1));
  return Number.isFinite(n) ? {epoch: id.slice(0, dash), n} : null;
}

// True if `id` comes after `other`, as far as the two can be compared.
export function isAfter(id, other) {
  const a = parseId(id);
  const b = parseId(other);
  return Boolean(a && b && a.epoch === b.epoch && a.n > b.n);
}

const text = (place) => (place ? place.epoch + '-' + place.n : null);

export const lastEventId = () => text(position);
export const counts = () => ({applied, dropped});

// Called with the position after each load.
export function onLoaded(action) { afterLoad = action; }

export async function load() {
  const waiting = buffer ?? [];
  buffer = waiting;
  waiting.loading ??= readAll().finally(() => { waiting.loading = null; });
  return waiting.loading;
}

async function readAll() {
  const waiting = buffer;
  let first;
  do {
    waiting.again = false; // a reset that arrives meanwhile sets it
    first = await readPages();
  } while (waiting.again);
  position = parseId(first);
  endReload();
  buffer = null;
  afterLoad(first);
  for (const {id, event} of waiting) receive(id, event);
}

async function readPages() {
  beginReload();
  let after = null;
  let first = null;
  do {
    const page = await get('api/agents?limit=1000' + (after === null ? '' : '&after=' + after));
    first ??= page.lastEventId;
    for (const agent of page.agents) upsert(agent);
    after = page.next ?? null;
  } while (after !== null);
  return first;
}

// Takes an event of the stream, from this tab or from the one that has the stream.
export function receive(id, event) {
  if (buffer) {
    if (event.type === 'reset') buffer.again = true;
    else buffer.push({id, event});
    return;
  }
  if (event.type === 'reset') {
    reload();
    return;
  }
  const place = parseId(id);
  if (place && position) {
    if (place.epoch !== position.epoch) {
      reload();
      return;
    }
    if (place.n <= position.n) {
      dropped++;
      return;
    }
  }
  if (place) position = place;
  applied++;
  applyEvent(event);
  notify('event', event, id);
}

// A load that fails is repeated until the server answers.
let reloading = false;
export async function reload() {
  if (reloading) return;
  reloading = true;
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await load();
      break;
    } catch (error) {
      if (error.status === 401) break;
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  reloading = false;
}
