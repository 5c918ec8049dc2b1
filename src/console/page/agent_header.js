// Above the conversation: the selected agent, its state, and the verbs for its subtree with what they reach.

import {on} from './bus.js';
import {byId, h, nameElement, onNextFrame, setText} from './dom.js';
import {counted, t} from './i18n.js';
import {icon} from './icons.js';
import {isRunning, statusOf, store} from './store.js';
import {announce} from './toast.js';
import {stateMarks} from './tree_row.js';
import {interrupt, pause, reach, reachText, release, remove, resume, stop, unpause} from './verbs.js';

const verbs = {interrupt, pause, unpause, resume, release, remove, stop: (node) => stop(node, byId('stop-when').value)};
const icons = {interrupt: 'interrupt', pause: 'pause', unpause: 'play', resume: 'play', release: 'queue', remove: 'trash', stop: 'stop'};
let announced = null;

// The verbs that make sense in a state, and that the role allows.
export function offered(node) {
  const status = statusOf(node);
  const {role} = node.agent;
  if (status === 'terminating') return [];
  const resting = status === 'stopped';
  const names = [];
  if (isRunning(node)) names.push('interrupt');
  if (node.agent.queueHeld) names.push('release');
  if (resting || node.agent.stopPending) names.push('resume');
  if (!resting) names.push(node.agent.paused ? 'unpause' : 'pause');
  if (!resting && status !== 'stopping' && role !== 'user') names.push('stop');
  if (role !== 'system' && role !== 'user') names.push('remove');
  return names;
}

const draw = onNextFrame(() => {
  const node = store.selected();
  if (!node) return;
  const status = statusOf(node);
  const n = reach(node);
  const name = byId('agent-name');
  if (name.dataset.key !== String(node.key)) {
    name.dataset.key = node.key;
    name.replaceChildren(nameElement(node.id, 200));
  }
  const state = t(status in {waiting_llm: 1, processing: 1, stopping: 1, stopped: 1, terminating: 1} ? status : 'idle');
  setText(byId('agent-state'), [state, ...stateMarks(node.agent)].join(' · '));
  byId('agent-state').dataset.state = status;
  const role = {system: t('roleSystem'), user: t('roleUser')}[node.agent.role] ?? '';
  setText(byId('agent-facts'), [node.agent.model, role, counted('agentsCount', n)].filter(Boolean).join(' · '));
  drawVerbs(n, offered(node));
  const now = node.key + status;
  if (announced && announced !== now && announced.startsWith(String(node.key))) announce(node.id.slice(0, 60) + ': ' + state);
  announced = now;
});

// Buttons that stay keep their element, so that the focus stays with them.
function drawVerbs(n, names) {
  for (const button of byId('agent-verbs').querySelectorAll('[data-verb]')) {
    const verb = button.dataset.verb;
    button.hidden = !names.includes(verb);
    const reaches = ['stop', 'pause', 'remove'].includes(verb) ? reachText(verb, n) : null;
    button.title = reaches ? t(verb) + ': ' + reaches : t(verb);
    button.setAttribute('aria-label', button.title);
    setText(button.querySelector('.label'), t(verb));
  }
  byId('stop-when').hidden = !names.includes('stop');
  setText(byId('reach'), names.includes('stop') ? reachText('stop', n) : names.includes('remove') ? reachText('remove', n) : '');
}

for (const verb of ['interrupt', 'release', 'resume', 'unpause', 'pause', 'stop', 'remove']) {
  const kind = verb === 'stop' ? 'danger' : verb === 'remove' ? 'danger quiet' : 'quiet';
  const button = h('button', {class: 'button ' + kind, type: 'button', hidden: true, dataset: {verb}}, icon(icons[verb]), h('span', {class: 'label'}));
  if (verb === 'stop') byId('agent-verbs').insertBefore(button, byId('stop-when'));
  else if (verb === 'remove') byId('agent-verbs').append(button);
  else byId('agent-verbs').insertBefore(button, byId('agent-verbs').querySelector('[data-verb=stop]') ?? byId('stop-when'));
}

byId('agent-verbs').addEventListener('click', (event) => {
  const verb = event.target.closest('[data-verb]')?.dataset.verb;
  const node = store.selected();
  if (verb && node) verbs[verb](node);
});

on('select', draw);
on('agents', draw);
on('agent', (node) => { if (node === store.selected()) draw(); });
on('language', draw);
