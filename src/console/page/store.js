// What the page knows of the agents: a tree of nodes, kept up to date by the events of the server.
//
// A node has: key (a number for the document), id, agent (the object of the contract), parent, children, expanded, hidden (deleted here,
// not yet confirmed), guess (a state that is shown until the server confirms it), changes (counts what arrived for it).

import {notify} from './bus.js';

const nodes = new Map();   // id -> node
const byKey = new Map();   // key -> node
const roots = [];
const waiting = new Map(); // id of a parent that is not known yet -> its children
let lastKey = 0;
let selected = null;

export const store = {
  roots,
  loaded: false,
  find: (id) => nodes.get(id),
  findKey: (key) => byKey.get(Number(key)),
  count: () => nodes.size,
  all: () => nodes.values(),
  selected: () => selected,
};

// What is shown: a guess goes before what the server last said.
export const statusOf = (node) => node.guess ?? node.agent.computeStatus ?? '';

export const isRunning = (node) => statusOf(node) === 'waiting_llm' || statusOf(node) === 'processing';

export function select(node) {
  if (node === selected) return;
  selected = node;
  notify('select', node);
}

export function subtreeOf(node) {
  const found = [node];
  for (let i = 0; i < found.length; i++) found.push(...found[i].children);
  return found;
}

export const isWithin = (node, ancestor) => {
  for (let up = node; up; up = up.parent) if (up === ancestor) return true;
  return false;
};

export const isHidden = (node) => {
  for (let up = node; up; up = up.parent) if (up.hidden) return true;
  return false;
};

// Adds an agent, or replaces what is known of it.
export function upsert(agent) {
  let node = nodes.get(agent.id);
  if (node) {
    node.agent = {...node.agent, ...agent};
    node.changes++;
    node.stale = false;
    notify('agent', node);
    return node;
  }
  node = {key: ++lastKey, id: agent.id, agent: {...agent}, parent: null, children: waiting.get(agent.id) ?? [], expanded: true, hidden: false,
    guess: null, changes: 0, stale: false};
  waiting.delete(agent.id);
  for (const child of node.children) child.parent = node;
  nodes.set(node.id, node);
  byKey.set(node.key, node);
  attach(node);
  notify('agents');
  return node;
}

function attach(node) {
  const parentId = node.agent.parentAgentId ?? null;
  const parent = nodes.get(parentId);
  node.parent = parent ?? null;
  if (parent) parent.children.push(node);
  else if (parentId === null) roots.push(node);
  else if (waiting.has(parentId)) waiting.get(parentId).push(node);
  else waiting.set(parentId, [node]);
}

export function forget(node) {
  nodes.delete(node.id);
  byKey.delete(node.key);
  const siblings = node.parent?.children ?? (waiting.get(node.agent.parentAgentId) ?? roots);
  const place = siblings.indexOf(node);
  if (place >= 0) siblings.splice(place, 1);
  // Children that are still there are deleted by events of their own; until then they are not shown.
  for (const child of node.children) {
    child.parent = null;
    if (!waiting.has(node.id)) waiting.set(node.id, []);
    waiting.get(node.id).push(child);
  }
  if (selected === node) select(node.parent);
  notify('agents');
}

// Between the two calls the whole tree is loaded again; what did not arrive in between is forgotten.
export function beginReload() {
  for (const node of nodes.values()) {
    node.stale = true;
    node.guess = null;
    node.hidden = false;
  }
}

export function endReload() {
  for (const node of [...nodes.values()]) if (node.stale) forget(node);
  waiting.clear();
  store.loaded = true;
  notify('agents');
  notify('loaded');
}

export function setGuess(node, status) {
  if (node.guess === status) return;
  node.guess = status;
  notify('agent', node);
}

export function setHidden(node, hidden) {
  node.hidden = hidden;
  notify('agents');
}

const settledBy = {stopping: ['stopping', 'stopped', 'terminating'], terminating: ['terminating']};

// What each type of event changes in its agent.
const changes = {
  state(node, event) {
    node.agent.computeStatus = event.to;
    node.agent.lastActiveAt = event.at;
    if (event.to === 'stopped' || event.to === 'terminating') node.agent.stopPending = null;
    if (node.guess && (settledBy[node.guess] ?? []).includes(event.to)) node.guess = null;
  },
  paused(node, event) { setPaused([node], event); },
  stop_pending(node, event) { node.agent.stopPending = event.withdrawn ? null : event.when; },
  queue_held(node, event) { node.agent.queueHeld = event.held; },
  queue(node, event) { node.agent.queueLength = event.length; },
  turn_ended(node, event) {
    const usage = node.agent.usage;
    if (!usage || !event.usage) return;
    for (const name of ['promptTokens', 'completionTokens', 'totalTokens', 'cachedTokens']) usage[name] = (usage[name] ?? 0) + (event.usage[name] ?? 0);
    usage.turns = (usage.turns ?? 0) + 1;
    if (event.cost !== null && event.cost !== undefined) usage.cost = (usage.cost ?? 0) + event.cost;
  },
};

// An agent is paused with its ancestors, which have the only event of it.
function setPaused(tops, event) {
  const set = (top, paused) => {
    for (const node of subtreeOf(top)) {
      if (node.agent.paused === paused) continue;
      node.agent.paused = paused;
      node.changes++;
      notify('agent', node);
    }
  };
  for (const top of tops) set(top, event.paused);
  for (const id of event.stillPaused ?? []) if (nodes.has(id)) set(nodes.get(id), true);
}

export function applyEvent(event) {
  if (event.type === 'tree_paused') {
    setPaused(roots, event);
    return;
  }
  if (event.type === 'created' && event.agent) {
    upsert(event.agent);
    return;
  }
  const node = nodes.get(event.agentId);
  if (!node) return;
  if (event.type === 'deleted') {
    forget(node);
    return;
  }
  if (!changes[event.type]) return;
  changes[event.type](node, event);
  node.changes++;
  notify('agent', node);
}
