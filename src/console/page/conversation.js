// The conversation of the selected agent: the pages that were loaded, the answer that streams, and the tool calls.
//
// The server is asked for the newest page again whenever something may have been added. A text event continues the streaming answer only
// if its id is above the `lastEventId` of the page; text that arrives while a page is on its way is kept, and applied to it.

import {agentPath, get} from './api.js';
import {notify, on} from './bus.js';
import {atMostEvery} from './dom.js';
import {isAfter} from './intake.js';
import {store} from './store.js';

const pageSize = 50;
const progressKept = 4000; // characters of the progress of a tool call

// messages: index -> message, without gaps from `first` on. live: the streaming answer or null. calls: id -> what is known of a tool call.
export let conversation = null;

function start(id) {
  conversation = {id, first: 0, total: 0, messages: new Map(), live: null, at: null, textsFrom: null, calls: new Map(), reasoning: new Map(), loading: true, failure: null};
}

export function openConversation(node) {
  if (!node) conversation = null;
  else start(node.id);
  notify('conversation', 'open');
  if (node) fetchNewest();
}

// ---- pages --------------------------------------------------------------------------------------------------------------------------

let fetching = null;  // the conversation that is asked for
let again = false;
let heldText = [];    // text events that arrive meanwhile

async function fetchNewest() {
  const wanted = conversation;
  if (!wanted) return;
  if (fetching === wanted) {
    again = true;
    return;
  }
  fetching = wanted;
  heldText = [];
  again = false;
  try {
    const [page, details] = await Promise.all([
      get(agentPath(wanted.id) + '/conversation?limit=' + pageSize), get(agentPath(wanted.id)).catch(() => null)]);
    if (wanted === conversation) {
      takeNewest(page);
      takeCalls(details?.calls ?? []);
      takeEnds(page.messages);
      wanted.failure = null;
    }
  } catch (error) {
    wanted.failure = error;
  }
  wanted.loading = false;
  if (fetching === wanted) fetching = null;
  if (wanted !== conversation) return;
  notify('conversation', 'all');
  if (again) fetchLater();
}

const fetchLater = atMostEvery(80, fetchNewest);

function takeNewest(page) {
  const c = conversation;
  const knownTotal = c.total;
  const last = c.messages.size ? c.first + c.messages.size : page.first;
  if (page.first > last || page.first < c.first || !c.messages.size) {
    c.messages.clear();
    c.first = page.first;
  }
  for (const index of [...c.messages.keys()]) if (index >= page.total) c.messages.delete(index);
  for (const message of page.messages) c.messages.set(message.index, message);
  c.total = page.total;
  keepReasoning(page, knownTotal);
  c.live = page.live;
  c.at = page.lastEventId ?? c.at;
  if (isAfter(c.textsFrom, c.at)) again = true; // once: the next page is newer
  c.textsFrom = null;
  for (const {event, id} of heldText) applyText(event, id);
  heldText = [];
}

// A message of the server has no reasoning. What streamed here stays with the answer that it led to.
function keepReasoning(page, knownTotal) {
  const before = conversation.live;
  if (!before?.reasoning || (page.live && page.live.call === before.call && page.live.turn === before.turn)) return;
  const answer = page.messages.find((message) => message.index >= knownTotal && message.role === 'assistant');
  if (answer) conversation.reasoning.set(answer.index, before.reasoning);
}

export async function loadEarlier() {
  const c = conversation;
  if (!c || c.first === 0 || c.loadingEarlier) return;
  c.loadingEarlier = true;
  try {
    const page = await get(agentPath(c.id) + '/conversation?before=' + c.first + '&limit=' + pageSize);
    if (c !== conversation) return;
    if (page.first + page.messages.length === c.first) {
      for (const message of page.messages) c.messages.set(message.index, message);
      takeEnds(page.messages);
      c.first = page.first;
    }
  } finally {
    c.loadingEarlier = false;
    if (c === conversation) notify('conversation', 'earlier');
  }
}

export function messagesInOrder() {
  const c = conversation;
  const list = [];
  for (let i = c.first; i < c.total; i++) if (c.messages.has(i)) list.push(c.messages.get(i));
  return list;
}

// The stream with the wished texts began after the event `after`: if the page is older, text is missing between the two.
export function textsBegan(texts, after) {
  if (!conversation || !texts.includes(conversation.id)) return;
  conversation.textsFrom = after;
  if (isAfter(after, conversation.at)) fetchLater();
}

// ---- events -------------------------------------------------------------------------------------------------------------------------

function applyText(event, id) {
  const c = conversation;
  if (!c.at) return; // the answer so far is still on its way
  if (id && !isAfter(id, c.at)) return;
  if (!c.live || c.live.call !== event.call || c.live.turn !== event.turn) {
    c.live = {turn: event.turn, call: event.call, text: '', reasoning: '', truncated: false};
  }
  c.live[event.type] += event.text;
}

function onText(event, id) {
  if (fetching === conversation) heldText.push({event, id});
  applyText(event, id);
  notify('conversation', 'live');
}

// The text after `keptBytes` bytes of UTF-8 is void.
function onReask(event) {
  const live = conversation.live;
  if (live && live.call === event.call && !live.truncated) {
    live.text = new TextDecoder().decode(new TextEncoder().encode(live.text).slice(0, event.keptBytes)).replace(/\ufffd$/, '');
    notify('conversation', 'live');
  }
  fetchLater();
}

// Pieces of the answer are in no event.
function onGap(event, id) {
  if (isAfter(id, conversation.at)) fetchLater();
}

// A call whose end is known stays ended, also while its tool still runs: `lingers`.
function takeCalls(running) {
  const {calls} = conversation;
  const ids = new Set(running.map((call) => call.callId));
  for (const call of running) {
    const known = calls.get(call.callId);
    const ended = known !== undefined && known.state !== 'running' ? known.state : call.stopping ? 'interrupted' : null;
    calls.set(call.callId, {...known, ...call, state: ended ?? 'running', lingers: ended !== null});
  }
  for (const call of calls.values()) {
    if (ids.has(call.callId)) continue;
    call.lingers = false;
    if (call.state === 'running') call.state = 'ended';
  }
}

// What the server says of calls that have ended goes before what was concluded here.
function takeEnds(messages) {
  const {calls} = conversation;
  for (const message of messages) {
    if (message.role !== 'tool' || message.open || !message.outcome) continue;
    const state = message.outcome === 'completed' && message.success === false ? 'failed' : message.outcome;
    const known = calls.get(message.toolCallId);
    if (known?.state !== 'refused') calls.set(message.toolCallId, {callId: message.toolCallId, kind: 'tool_call', ...known, state});
  }
}

function setCall(event, values) {
  const {calls} = conversation;
  calls.set(event.callId, {callId: event.callId, turn: event.turn, kind: 'tool_call', ...calls.get(event.callId), ...values});
  notify('conversation', 'calls');
}

const handlers = {
  text: onText,
  reasoning: onText,
  reask: onReask,
  text_gap: onGap,
  turn_started: fetchLater,
  turn_ended: fetchLater,
  steered: fetchLater,
  compaction: fetchLater,
  task: fetchLater,
  conversation() {
    conversation.messages.clear();
    fetchLater();
  },
  tool_started(event) {
    setCall(event, {tool: event.tool, arguments: event.arguments, state: 'running', progress: '', startedAt: event.at});
    fetchLater();
  },
  tool_progress(event) {
    const progress = (conversation.calls.get(event.callId)?.progress ?? '') + event.text;
    setCall(event, {progress: progress.slice(-progressKept)});
  },
  tool_ended(event) {
    setCall(event, {state: event.outcome === 'completed' && event.success === false ? 'failed' : event.outcome, message: event.message});
    fetchLater();
  },
  abandoned(event) {
    if (event.callId) setCall(event, {tool: event.tool, state: 'abandoned', lingers: false});
  },
  tool_refused(event) {
    setCall(event, {tool: event.tool, state: 'refused', message: event.reason});
    fetchLater();
  },
};

on('event', (event, id) => {
  if (conversation && event.agentId === conversation.id && handlers[event.type]) handlers[event.type](event, id);
});
on('select', openConversation);
on('loaded', () => {
  if (!conversation || !store.find(conversation.id)) return;
  conversation.messages.clear();
  conversation.at = null;
  fetchNewest();
});
