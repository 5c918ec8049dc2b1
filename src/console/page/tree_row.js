// One row of the tree: what it consists of, and how it follows its agent.

import {cut, h, setAttribute, setText} from './dom.js';
import {t} from './i18n.js';
import {icon} from './icons.js';
import {statusOf} from './store.js';

const glyphs = {waiting_llm: '⏳', processing: '⚙️', stopping: '⏸️', stopped: '⏹️', terminating: '🗑️'};
const classes = {waiting_llm: 'waiting'};

// The status of an agent, and the button that ends its model call. Idle and unknown states have no icon.
export function statusElements(status) {
  if (!glyphs[status]) return [];
  const span = h('span', {class: 'compute-status ' + (classes[status] ?? status), title: t(status)}, glyphs[status]);
  if (status !== 'waiting_llm') return [span];
  return [span, h('button', {class: 'abort-btn', title: t('abortTitle')}, '⏹')];
}

export function makeRow(node) {
  const row = h('div', {class: 'row', role: 'treeitem', id: 'agent-row-' + node.key, dataset: {key: node.key}},
    h('span', {class: 'twisty', 'aria-hidden': 'true'}, icon('chevron')),
    h('bdi', {class: 'name', title: cut(node.id, 300)}, cut(node.id, 120)),
    h('span', {class: 'marks'}),
    h('span', {class: 'queue'}),
    h('span', {class: 'status'}),
    h('span', {class: 'controls'}));
  row.shown = {};
  return row;
}

export function updateRow(row, {node, depth, pos, size, open, match}, {active, selected, top}) {
  const status = statusOf(node);
  const {agent} = node;
  row.style.transform = 'translateY(' + top + 'px)';
  row.style.setProperty('--depth', String(Math.min(depth, 14)));
  row.classList.toggle('active', active);
  row.classList.toggle('faint', !match);
  setAttribute(row, 'aria-level', depth + 1);
  setAttribute(row, 'aria-posinset', pos);
  setAttribute(row, 'aria-setsize', size);
  setAttribute(row, 'aria-expanded', open === null ? null : String(open));
  setAttribute(row, 'aria-selected', String(selected));
  setAttribute(row, 'aria-label', label(node, status));
  const [, , marks, queue, statusBox, controls] = row.children;
  replaceIfChanged(row, 'status', status + t('idle'), () => statusBox.replaceChildren(...statusElements(status)));
  setText(queue, agent.queueLength > 0 ? String(agent.queueLength) : '');
  setAttribute(queue, 'title', agent.queueLength > 0 ? t('queueLength', {n: agent.queueLength}) : null);
  const running = status === 'waiting_llm' || status === 'processing';
  replaceIfChanged(row, 'controls', String(running) + t('idle'), () => controls.replaceChildren(...(running ? [interruptButton()] : [])));
  const words = stateMarks(agent);
  const shortWords = stateMarks(agent, 'Short');
  replaceIfChanged(row, 'marks', words.join(), () => marks.replaceChildren(...words.map((word, i) => h('span', {class: 'mark', title: word}, shortWords[i]))));
}

function replaceIfChanged(row, name, value, replace) {
  if (row.shown[name] === value) return;
  row.shown[name] = value;
  replace();
}

function interruptButton() {
  return h('button', {class: 'interrupt-btn', title: t('interrupt'), 'aria-label': t('interrupt'), tabindex: '-1'}, icon('interrupt'));
}

// What holds an agent back, beside its status; with `form` Short, in one or two words.
export function stateMarks(agent, form = '') {
  const words = [];
  if (agent.paused) words.push(t('paused'));
  if (agent.queueHeld) words.push(t(form ? 'heldShort' : 'queueHeld'));
  if (agent.stopPending) words.push(t((agent.stopPending === 'after_step' ? 'pendingStep' : 'pendingTurn') + form));
  return words;
}

function label(node, status) {
  const words = [cut(node.id, 120), glyphs[status] ? t(status) : t('idle'), ...stateMarks(node.agent)];
  if (node.agent.queueLength > 0) words.push(t('queueLength', {n: node.agent.queueLength}));
  return words.join(', ');
}
