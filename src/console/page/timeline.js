// What happened, newest last: the last events of all agents or of the selected one. At most `most` are kept and drawn.

import {on} from './bus.js';
import {byId, cut, h, onNextFrame} from './dom.js';
import {clock} from './format.js';
import {t} from './i18n.js';
import {store} from './store.js';

const most = 500;
const silent = new Set(['text', 'reasoning', 'text_gap', 'tool_progress', 'persisted', 'queue']);
const list = byId('timeline');
const only = byId('timeline-only');
let events = [];   // {event, n}
let fresh = [];    // not drawn yet
let all = true;    // draw all of them again
let count = 0;

const visible = () => list.offsetParent !== null;
const wanted = ({event}) => !only.checked || event.agentId === store.selected()?.id;

const draw = onNextFrame(() => {
  if (!visible()) {
    all = true;
    fresh = [];
    return;
  }
  const atEnd = all || list.scrollHeight - list.scrollTop - list.clientHeight < 30;
  if (all) list.replaceChildren(...events.filter(wanted).map(item));
  else list.append(...fresh.filter(wanted).map(item));
  while (list.children.length > most) list.firstElementChild.remove();
  all = false;
  fresh = [];
  byId('no-events').hidden = list.children.length > 0;
  if (atEnd) list.scrollTop = list.scrollHeight;
});

const details = {
  state: (e) => e.from + ' → ' + e.to,
  settled: (e) => e.end,
  paused: (e) => String(e.paused),
  stop_pending: (e) => (e.withdrawn ? 'withdrawn' : e.when),
  queue_held: (e) => String(e.held),
  turn_started: (e) => '#' + e.turn,
  turn_ended: (e) => '#' + e.turn + ' ' + e.outcome + (e.error ? ': ' + (e.error.message ?? e.error) : ''),
  reask: (e) => e.cause,
  tool_started: (e) => e.tool,
  tool_ended: (e) => e.outcome,
  tool_refused: (e) => e.tool,
  question: (e) => e.question?.text,
  question_closed: (e) => e.outcome,
  task: (e) => [e.tool, e.state].filter(Boolean).join(' '),
  steered: (e) => e.fate,
  discarded: (e) => e.kind,
  abandoned: (e) => [e.kind, e.tool].filter(Boolean).join(' '),
  conversation: (e) => e.change,
  receipt: (e) => e.receipt?.verb + ' #' + e.receipt?.number,
};

// Who did it, and why.
function origin(event) {
  const from = event.receipt ?? event;
  const words = [];
  if (from.cause && from.cause !== details[event.type]?.(event)) words.push(from.cause);
  if (from.caller) words.push(t('by', {who: from.caller}));
  if (from.reason) words.push('“' + from.reason + '”');
  return words.join(' · ');
}

function item({event}) {
  const what = details[event.type]?.(event) ?? '';
  const why = origin(event);
  const stopping = /stop|terminat|delet/.test(event.type + ' ' + (event.to ?? '') + ' ' + (event.receipt?.verb ?? ''));
  return h('li', {class: 'event' + (stopping ? ' ends' : '')},
    h('time', {}, event.at ? clock(event.at) : ''),
    h('span', {class: 'type'}, event.type),
    h('bdi', {class: 'id', title: cut(event.agentId ?? '', 300)}, cut(event.agentId ?? '', 60)),
    what || why ? h('span', {class: 'what'}, cut(String(what), 160), why && h('span', {class: 'why'}, (what ? '  ' : '') + cut(why, 200))) : null);
}

on('event', (event, id) => {
  if (silent.has(event.type)) return;
  const entry = {event, n: ++count, id};
  events.push(entry);
  fresh.push(entry);
  if (fresh.length > most) fresh.shift();
  if (events.length > most * 2) events = events.slice(-most);
  draw();
});

export function redrawTimeline() {
  all = true;
  draw();
}

only.addEventListener('change', redrawTimeline);
on('select', () => { if (only.checked) redrawTimeline(); });
on('language', redrawTimeline);
