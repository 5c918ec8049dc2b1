// The field below the conversation: it sends to an agent at rest, and steers a running turn. Esc interrupts.

import {agentPath, post} from './api.js';
import {on} from './bus.js';
import {byId, onNextFrame, setAttribute, setText} from './dom.js';
import {t} from './i18n.js';
import {isRunning, statusOf, store} from './store.js';
import {toast} from './toast.js';
import {interrupt, reason} from './verbs.js';

const form = byId('composer');
const field = byId('composer-text');
const drafts = new Map(); // what was typed for other agents
let shown = null;
let sending = false;

const when = () => form.elements.when.value;

const draw = onNextFrame(() => {
  const node = store.selected();
  if (!node) return;
  const running = isRunning(node);
  const closed = ['stopping', 'stopped', 'terminating'].includes(statusOf(node));
  byId('steer-when').hidden = !running;
  field.disabled = closed;
  byId('composer-send').disabled = closed || sending;
  setAttribute(field, 'placeholder', t(closed ? 'stoppedHint' : running ? 'steerHint' : 'messageHint'));
  setText(byId('composer-send').lastElementChild, t(running && when() !== 'queue' ? 'steer' : 'send'));
});

function fit() {
  field.style.height = 'auto';
  field.style.height = Math.min(field.scrollHeight + 2, 180) + 'px';
}

async function send() {
  const node = store.selected();
  const text = field.value.trim();
  if (!node || !text || sending) return;
  sending = true;
  draw();
  try {
    if (isRunning(node) && when() !== 'queue') await post(agentPath(node.id) + '/steer', {text, when: when()});
    else await post(agentPath(node.id) + '/send', {text});
    drafts.delete(node);
    if (store.selected() === node && field.value.trim() === text) field.value = '';
    fit();
  } catch (error) {
    toast('error', t('actionFailed', {message: reason(error)}));
  }
  sending = false;
  draw();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  send();
});
form.addEventListener('change', draw);
field.addEventListener('input', fit);

// Enter belongs to the input method while a word is composed.
field.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
  if (event.target !== document.body && !event.target.closest('#pane-chat')) return;
  const node = store.selected();
  if (node && isRunning(node)) interrupt(node);
});

on('select', (node) => {
  if (shown) drafts.set(shown, field.value);
  shown = node;
  field.value = drafts.get(node) ?? '';
  fit();
  draw();
});
on('agent', (node) => { if (node === store.selected()) draw(); });
on('language', draw);
