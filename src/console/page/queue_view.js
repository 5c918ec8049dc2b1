// The messages that wait for the selected agent, between the conversation and the composer. They are asked for while the list is open.

import {agentPath, get, request} from './api.js';
import {on} from './bus.js';
import {atMostEvery, byId, cut, h, onNextFrame, setText} from './dom.js';
import {t} from './i18n.js';
import {icon} from './icons.js';
import {partsElement} from './message_view.js';
import {store} from './store.js';
import {toast} from './toast.js';
import {reason} from './verbs.js';

const box = byId('queue-box');
const list = byId('queue-list');
const most = 50;
let known = -1; // the length that the list shows

const load = async () => {
  const node = store.selected();
  if (!node || !box.open) return;
  try {
    const {messages} = await get(agentPath(node.id) + '/queue');
    if (node !== store.selected()) return;
    list.replaceChildren(...messages.slice(0, most).map((message) => h('li', {class: 'line', dataset: {messageId: message.messageId}},
      h('span', {class: 'queued-text'}, cut(message.text, 300)), message.parts.length > 0 && partsElement(message.parts), message.priority === 'urgent' && h('span', {class: 'mark attention'}, t('urgent')),
      h('button', {class: 'button quiet square', type: 'button', title: t('remove'), 'aria-label': t('remove') + ': ' + cut(message.text, 40)}, icon('close')))));
  } catch (error) {
    list.replaceChildren(h('li', {class: 'muted'}, t('loadFailed', {message: reason(error)})));
  }
};
const loadSoon = atMostEvery(150, load);

const draw = onNextFrame(() => {
  const length = store.selected()?.agent.queueLength ?? 0;
  box.hidden = length === 0;
  setText(box.querySelector('summary'), t('queueLength', {n: length}));
  if (length !== known) loadSoon();
  known = length;
});

list.addEventListener('click', async (event) => {
  const item = event.target.closest('button')?.closest('li');
  const node = store.selected();
  if (!item || !node) return;
  event.target.closest('button').disabled = true;
  try {
    await request('DELETE', agentPath(node.id) + '/queue/' + encodeURIComponent(item.dataset.messageId));
    item.remove();
  } catch (error) {
    toast('error', t('actionFailed', {message: reason(error)}));
    loadSoon();
  }
});

box.addEventListener('toggle', load);
on('select', () => {
  known = -1;
  list.replaceChildren();
  draw();
});
on('agent', (node) => { if (node === store.selected()) draw(); });
on('language', () => {
  known = -1;
  draw();
});
