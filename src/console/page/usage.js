// Tokens, turns and cost: of the selected agent, and of all.

import {get} from './api.js';
import {on} from './bus.js';
import {atMostEvery, byId, h, onNextFrame, setText} from './dom.js';
import {cost, short, whole} from './format.js';
import {counted, t} from './i18n.js';
import {store} from './store.js';
import {refresh} from './verbs.js';

let total = null;

const load = async () => {
  try {
    total = (await get('api/usage')).total;
    draw();
  } catch { /* the next event asks again */ }
};
const loadSoon = atMostEvery(2000, load);

const lines = [['promptTokens', whole], ['cachedTokens', whole], ['completionTokens', whole], ['totalTokens', whole], ['turns', whole], ['cost', cost]];

const draw = onNextFrame(() => {
  const node = store.selected();
  const mine = node?.agent.usage;
  const body = lines.map(([name, format]) => h('tr', {}, h('th', {scope: 'row'}, t(name)),
    h('td', {}, mine ? format(mine[name]) : '–'), h('td', {}, total ? format(total[name]) : '–')));
  byId('usage-table').replaceChildren(
    h('thead', {}, h('tr', {}, h('td', {}), h('th', {scope: 'col'}, t('selectedAgent')), h('th', {scope: 'col'}, t('wholeTree')))),
    h('tbody', {}, body));
  setText(byId('totals'), [counted('agentsCount', store.count(), whole(store.count())), total && short(total.totalTokens) + ' ' + t('tokens'),
    total && total.cost !== null && total.cost !== undefined && t('cost') + ' ' + cost(total.cost)].filter(Boolean).join('  ·  '));
});

on('event', (event) => { if (event.type === 'turn_ended') loadSoon(); });
on('loaded', load);
on('agents', draw);
on('agent', (node) => { if (node === store.selected()) draw(); });
on('select', (node) => {
  if (node) refresh(node);
  draw();
});
on('language', draw);
