// The keyboard in the tree, as the ARIA pattern of a tree view has it. One element has the focus; aria-activedescendant names the row.

import {byId} from './dom.js';
import {isRunning, select, store} from './store.js';
import {activeNode, rowAt, rowCount, rowIndex, rowsInView, setActive, toggle} from './tree_view.js';
import {interrupt, remove} from './verbs.js';

const box = byId('tree');

function moveTo(i) {
  const row = rowAt(Math.max(0, Math.min(rowCount() - 1, i)));
  if (row) setActive(row.node);
}

const keys = {
  ArrowDown: (at) => moveTo(at + 1),
  ArrowUp: (at) => moveTo(at < 0 ? rowCount() - 1 : at - 1),
  Home: () => moveTo(0),
  End: () => moveTo(rowCount() - 1),
  PageDown: (at) => moveTo(at + rowsInView()),
  PageUp: (at) => moveTo(at - rowsInView()),
  ArrowRight(at, row) {
    if (!row || row.open === null) return;
    if (row.open) moveTo(at + 1);
    else toggle(row.node, true);
  },
  ArrowLeft(at, row) {
    if (!row) return;
    if (row.open && row.node.expanded) toggle(row.node, false);
    else if (row.node.parent) moveTo(rowIndex(row.node.parent));
  },
  Enter: (at, row) => row && select(row.node),
  ' ': (at, row) => row && select(row.node),
  Delete: (at, row) => row && remove(row.node),
  Escape: (at, row) => row && isRunning(row.node) && interrupt(row.node),
};

box.addEventListener('keydown', (event) => {
  if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  const at = activeNode() ? rowIndex(activeNode()) : -1;
  keys[event.key](at, rowAt(at));
});

// A press of the pointer focuses the tree as well; the click that follows says which row is meant.
box.addEventListener('focus', () => {
  if (!box.matches(':focus-visible')) return;
  if (!activeNode() && rowCount()) setActive(store.selected() && rowIndex(store.selected()) >= 0 ? store.selected() : rowAt(0).node);
});
