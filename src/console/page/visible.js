// Which rows the tree has: the nodes that are expanded, or that a search or a filter finds, in the order of the tree.

import {statusOf, store} from './store.js';

export const filter = {text: '', state: ''};

export const isFiltering = () => filter.text !== '' || filter.state !== '';

function matches(node, needle) {
  if (needle && !node.id.toLowerCase().includes(needle)) return false;
  if (!filter.state) return true;
  const status = statusOf(node);
  switch (filter.state) {
    case 'active': return status !== 'idle' && status !== 'stopped' && status !== '';
    case 'paused': return Boolean(node.agent.paused);
    case 'queued': return node.agent.queueLength > 0;
    default: return status === filter.state;
  }
}

// The nodes that match, and all that is above them. The second number counts the matches alone.
function found() {
  const needle = filter.text.toLowerCase();
  const keep = new Set();
  let hits = 0;
  for (const node of store.all()) {
    if (node.hidden || !matches(node, needle)) continue;
    hits++;
    for (let up = node; up && !keep.has(up); up = up.parent) keep.add(up);
  }
  return {keep, hits};
}

// Rows: {node, depth, pos, size, open, match}. pos and size number the siblings that have rows.
export function visibleRows() {
  const filtering = isFiltering();
  const {keep, hits} = filtering ? found() : {keep: null, hits: store.count()};
  const needle = filter.text.toLowerCase();
  const rows = [];
  const stack = [];
  const push = (list, depth) => {
    const shown = list.filter((node) => !node.hidden && (!keep || keep.has(node)));
    for (let i = shown.length - 1; i >= 0; i--) stack.push({node: shown[i], depth, pos: i + 1, size: shown.length, open: null, match: true});
    return shown.length;
  };
  push(store.roots, 0);
  while (stack.length) {
    const row = stack.pop();
    rows.push(row);
    if (filtering) row.match = matches(row.node, needle);
    const children = row.node.children;
    if (!children.length) continue;
    if (filtering) row.open = push(children, row.depth + 1) > 0 ? true : null;
    else {
      const some = children.some((child) => !child.hidden);
      row.open = some ? row.node.expanded : null;
      if (some && row.node.expanded) push(children, row.depth + 1);
    }
  }
  return {rows, hits};
}

export function expandAll(expanded) {
  for (const node of store.all()) node.expanded = expanded;
}

// Opens everything above a node.
export function reveal(node) {
  for (let up = node.parent; up; up = up.parent) up.expanded = true;
}
