// Above the tree: search, filter by state, expand and collapse, and the verbs for the whole tree.

import {post} from './api.js';
import {byId, afterQuiet} from './dom.js';
import {confirmDialog} from './dialog.js';
import {t} from './i18n.js';
import {store} from './store.js';
import {toast} from './toast.js';
import {redrawTree} from './tree_view.js';
import {reason} from './verbs.js';
import {expandAll, filter} from './visible.js';

const search = byId('search');

const searchLater = afterQuiet(80, () => {
  filter.text = search.value.trim();
  byId('tree').scrollTop = 0;
  redrawTree();
});

search.addEventListener('input', searchLater);
search.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'Enter') byId('tree').focus();
  else if (event.key === 'Escape' && search.value) search.value = '';
  else if (event.key === 'Escape') byId('tree').focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
  searchLater();
});

byId('state-filter').addEventListener('change', (event) => {
  filter.state = event.target.value;
  byId('tree').scrollTop = 0;
  redrawTree();
});

byId('expand-all').addEventListener('click', () => {
  expandAll(true);
  redrawTree();
});

byId('collapse-all').addEventListener('click', () => {
  expandAll(false);
  redrawTree();
});

// "/" goes to the search from everywhere but from a field.
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
  event.preventDefault();
  document.body.dataset.pane = 'tree';
  search.focus();
  search.select();
});

const menu = byId('tree-menu');

menu.addEventListener('click', async (event) => {
  const verb = event.target.closest('[data-tree-verb]')?.dataset.treeVerb;
  if (!verb) return;
  menu.open = false;
  const what = t(verb + 'All');
  if (verb === 'stop') {
    const sure = await confirmDialog({title: what, body: t('stopAllBody', {n: store.count()}), confirm: what, danger: true});
    if (!sure) return;
  }
  try {
    await post('api/tree/' + verb);
    toast('success', t('allDone', {what}));
  } catch (error) {
    toast('error', t('whatFailed', {what, message: reason(error)}));
  }
});

menu.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !menu.open) return;
  event.stopPropagation();
  menu.open = false;
  menu.querySelector('summary').focus();
});

menu.addEventListener('focusout', (event) => {
  if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
});
