// The tree of agents on the left. Only the rows in view are in the document: at most `mostRows`, however many agents there are.

import {on} from './bus.js';
import {byId, onNextFrame, setAttribute, setText} from './dom.js';
import {t} from './i18n.js';
import {select, store} from './store.js';
import {makeRow, updateRow} from './tree_row.js';
import {abort, interrupt} from './verbs.js';
import {filter, isFiltering, reveal, visibleRows} from './visible.js';

const mostRows = 100;
const ahead = 8; // rows above and below the view

const box = byId('tree');
const space = byId('tree-space');
const drawn = new Map(); // node -> row in the document
let rows = [];
let places = new Map();  // node -> index in rows
let rowHeight = 28;
let stale = true;
let active = null;       // the node that the keyboard is on

const draw = onNextFrame(() => {
  if (stale) recompute();
  const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - ahead);
  const inView = Math.ceil(box.clientHeight / rowHeight) + 2 * ahead;
  const end = Math.min(rows.length, first + Math.min(mostRows, inView));
  const wanted = new Set();
  for (let i = first; i < end; i++) wanted.add(rows[i].node);
  for (const [node, row] of drawn) {
    if (wanted.has(node)) continue;
    row.remove();
    drawn.delete(node);
  }
  let place = space.firstElementChild;
  for (let i = first; i < end; i++) {
    const row = drawRow(i);
    if (row === place) place = place.nextElementSibling;
    else space.insertBefore(row, place);
  }
  const shown = active && drawn.has(active) ? 'agent-row-' + active.key : null;
  setAttribute(box, 'aria-activedescendant', shown);
});

// A row keeps its element as long as it is in view, so that a click is not lost when the tree changes under the pointer. The order in the
// document is the order in the tree, for screen readers and for the Tab key.
function drawRow(i) {
  const {node} = rows[i];
  let row = drawn.get(node);
  if (!row) {
    row = makeRow(node);
    drawn.set(node, row);
  }
  updateRow(row, rows[i], {active: node === active, selected: node === store.selected(), top: i * rowHeight});
  return row;
}

function recompute() {
  stale = false;
  const before = rowIndex(active);
  const result = visibleRows();
  rows = result.rows;
  places = new Map(rows.map((row, i) => [row.node, i]));
  rowHeight = parseFloat(getComputedStyle(box).getPropertyValue('--row')) || 28;
  space.style.height = rows.length * rowHeight + 'px';
  if (active && !places.has(active)) active = rows[Math.min(before, rows.length - 1)]?.node ?? null;
  setAttribute(byId('tree-count'), 'aria-live', filter.text ? 'polite' : 'off');
  setText(byId('tree-count'), isFiltering() ? t('matches', {n: result.hits, total: store.count()}) : String(store.count()));
  const empty = byId('tree-empty');
  empty.hidden = rows.length > 0;
  setText(empty, !store.loaded ? t('loading') : isFiltering() ? t('noMatch') : t('noAgents'));
}

export function redrawTree() {
  stale = true;
  draw();
}

export const rowIndex = (node) => places.get(node) ?? -1;
export const rowAt = (i) => rows[i];
export const rowCount = () => rows.length;
export const activeNode = () => active;
export const rowsInView = () => Math.max(1, Math.floor(box.clientHeight / rowHeight) - 1);

// Moves the keyboard to a row, and the row into view.
export function setActive(node) {
  active = node;
  const i = rowIndex(node);
  if (i >= 0) {
    const top = i * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight;
  }
  draw();
}

export function toggle(node, expanded = !node.expanded) {
  node.expanded = expanded;
  redrawTree();
}

export function showNode(node) {
  reveal(node);
  recompute();
  setActive(node);
}

box.addEventListener('click', (event) => {
  const row = event.target.closest('.row');
  const node = row && store.findKey(row.dataset.key);
  if (!node) return;
  if (event.target.closest('.abort-btn')) {
    event.stopPropagation();
    abort(node);
  } else if (event.target.closest('.interrupt-btn')) {
    event.stopPropagation();
    interrupt(node);
  } else if (event.target.closest('.twisty') && row.hasAttribute('aria-expanded')) {
    active = node;
    toggle(node);
  } else {
    active = node;
    select(node);
    draw();
  }
});

box.addEventListener('scroll', draw, {passive: true});
new ResizeObserver(redrawTree).observe(box);
on('agents', redrawTree);
on('agent', () => (isFiltering() ? redrawTree() : draw()));
on('select', draw);
on('language', redrawTree);
