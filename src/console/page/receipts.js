// The receipts of stops and deletes: how long it took from the call until the gate was closed, and until all was settled.

import {get} from './api.js';
import {on} from './bus.js';
import {byId, cut, h, nameElement, onNextFrame} from './dom.js';
import {clock, microseconds} from './format.js';
import {counted, t, word} from './i18n.js';

const most = 200;
const list = byId('receipt-list');
const known = new Map(); // number -> receipt
const drawn = new Map(); // number -> element
let last = 0;
let all = true;

async function load() {
  try {
    let after = last;
    do {
      const page = await get('api/receipts?limit=500&after=' + after);
      for (const receipt of page.receipts) add(receipt);
      after = page.next ?? null;
    } while (after !== null);
    draw();
  } catch { /* the next load brings them */ }
}

function add(receipt) {
  known.set(receipt.number, receipt);
  last = Math.max(last, receipt.number);
  if (known.size > most) known.delete(known.keys().next().value);
}

const draw = onNextFrame(() => {
  if (list.offsetParent === null && list.parentElement.hidden) return;
  const scale = Math.max(6, ...[...known.values()].map((receipt) => Math.ceil(Math.log10((receipt.settledAfterUs ?? 0) + 1))));
  if (all || list.dataset.scale !== String(scale)) {
    list.replaceChildren();
    drawn.clear();
  }
  all = false;
  list.dataset.scale = scale;
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 30;
  for (const [number, element] of drawn) {
    if (known.has(number)) continue;
    element.remove();
    drawn.delete(number);
  }
  for (const receipt of known.values()) {
    if (drawn.has(receipt.number)) continue;
    const element = card(receipt, scale);
    drawn.set(receipt.number, element);
    list.append(element);
  }
  byId('no-receipts').hidden = known.size > 0;
  if (atEnd || drawn.size === known.size) list.scrollTop = list.scrollHeight;
});

function card(receipt, scale) {
  const why = [receipt.cause !== receipt.verb && word('value', receipt.cause), receipt.caller && t('by', {who: receipt.caller}), receipt.reason && '“' + receipt.reason + '”']
    .filter(Boolean).join(' · ');
  return h('li', {class: 'card receipt'},
    h('header', {}, h('span', {class: 'mark ends'}, t('verb_' + receipt.verb)), nameElement(receipt.agentId, 40),
      h('span', {class: 'muted'}, counted('agentsCount', (receipt.descendantCount ?? 0) + 1)), h('time', {}, clock(receipt.calledAt))),
    why && h('p', {class: 'muted'}, cut(why, 300)),
    bar(receipt, scale),
    h('dl', {class: 'spans'},
      h('div', {}, h('dt', {class: 'key gate'}, t('gateClosed')), h('dd', {}, microseconds(receipt.closedAfterUs))),
      h('div', {}, h('dt', {class: 'key settled'}, t('settled')), h('dd', {}, microseconds(receipt.settledAfterUs)))));
}

const space = 'http://www.w3.org/2000/svg';

function shape(name, attributes) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// call -> gate closed -> settled, on a logarithmic scale of `scale` decades of microseconds that all receipts share.
function bar(receipt, scale) {
  const at = (us) => Math.min(100, (Math.log10((us ?? 0) + 1) / scale) * 100);
  const closed = at(receipt.closedAfterUs);
  const settled = Math.max(closed, at(receipt.settledAfterUs ?? receipt.closedAfterUs));
  const label = t('receiptBar', {closed: microseconds(receipt.closedAfterUs), settled: microseconds(receipt.settledAfterUs)}) + ' (' + t('logScale') + ')';
  const svg = shape('svg', {class: 'bar', width: '100%', height: '26', role: 'img', 'aria-label': label});
  const title = document.createElementNS(space, 'title');
  title.textContent = label;
  svg.append(title, shape('rect', {class: 'bar-track', x: '0', y: '3', width: '100%', height: '8', rx: '2'}));
  svg.append(shape('rect', {class: 'bar-settled', x: closed + '%', y: '3', width: settled - closed + '%', height: '8'}));
  svg.append(shape('rect', {class: 'bar-closed', x: '0', y: '3', width: closed + '%', height: '8', rx: '2'}));
  for (let decade = 0; decade <= scale; decade++) {
    svg.append(shape('line', {class: 'bar-tick', x1: (decade / scale) * 100 + '%', x2: (decade / scale) * 100 + '%', y1: '12', y2: '14'}));
  }
  for (const [decade, text] of [[0, '0'], [3, '1 ms'], [6, '1 s']]) {
    if (decade > scale) continue;
    const end = decade === scale;
    const mark = shape('text', {class: 'bar-text', x: (decade / scale) * 100 + '%', y: '24', 'text-anchor': end ? 'end' : decade ? 'middle' : 'start'});
    mark.textContent = text;
    svg.append(mark);
  }
  return svg;
}

export const redrawReceipts = () => draw();

on('event', (event) => {
  if (event.type !== 'receipt' || !event.receipt) return;
  add(event.receipt);
  draw();
});
on('loaded', () => {
  known.clear();
  last = 0;
  all = true;
  load();
});
on('language', () => {
  all = true;
  draw();
});
