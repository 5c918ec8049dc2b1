// What happened, newest last: the last events of all agents or of the selected one. At most `most` are kept and drawn.

import {on} from './bus.js';
import {byId, cut, h, onNextFrame} from './dom.js';
import {clock} from './format.js';
import {t, word} from './i18n.js';
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

const value = (name) => word('value', name);

const details = {
  state: (e) => value(e.from) + ' → ' + value(e.to),
  settled: (e) => value(e.end),
  paused: (e) => value(e.paused ? 'began' : 'ended'),
  tree_paused: (e) => value(e.paused ? 'began' : 'ended'),
  stop_pending: (e) => value(e.withdrawn ? 'withdrawn' : e.when),
  queue_held: (e) => value(e.held ? 'began' : 'ended'),
  turn_started: (e) => '#' + e.turn,
  turn_ended: (e) => '#' + e.turn + ' ' + value(e.outcome) + (e.error ? ': ' + word('code', e.errorCode, e.error) : ''),
  reask: (e) => value(e.cause),
  tool_started: (e) => e.tool,
  tool_ended: (e) => value(e.outcome === 'completed' && e.success === false ? 'failed' : e.outcome),
  tool_refused: (e) => e.tool,
  question: (e) => e.question?.text,
  question_closed: (e) => value(e.outcome),
  task: (e) => [e.tool, value(e.state)].filter(Boolean).join(' '),
  steered: (e) => value(e.fate),
  discarded: (e) => value(e.kind),
  abandoned: (e) => [value(e.kind), e.tool].filter(Boolean).join(' '),
  conversation: (e) => value(e.change),
  receipt: (e) => t('verb_' + e.receipt?.verb) + ' #' + e.receipt?.number,
};

// Who did it, and why.
function origin(event) {
  const from = event.receipt ?? event;
  const words = [];
  if (from.cause && event.type !== 'reask') words.push(value(from.cause));
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
    h('span', {class: 'type', title: event.type}, word('event', event.type)),
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
