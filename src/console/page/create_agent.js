// The dialog that makes a new agent. Its parent is the selected agent unless another is given.

import {post} from './api.js';
import {byId, nameElement} from './dom.js';
import {parts, t} from './i18n.js';
import {select, store, upsert} from './store.js';
import {toast} from './toast.js';
import {showNode} from './tree_view.js';
import {reason} from './verbs.js';

const dialog = byId('create');
const form = byId('create-form');

byId('new-agent').addEventListener('click', () => {
  form.elements.parentId.value = store.selected()?.id ?? '';
  byId('create-error').textContent = '';
  dialog.showModal();
  form.elements.id.focus();
});

byId('create-cancel').addEventListener('click', () => dialog.close());

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const body = {};
  for (const name of ['id', 'parentId', 'model', 'systemPrompt']) if (form.elements[name].value) body[name] = form.elements[name].value;
  byId('create-submit').disabled = true;
  try {
    const {agent} = await post('api/agents', body);
    const node = store.find(agent.id) ?? upsert(agent);
    form.reset();
    dialog.close();
    showNode(node);
    select(node);
    toast('success', ...parts('created', {name: nameElement(agent.id, 40)}));
  } catch (error) {
    byId('create-error').textContent = t('actionFailed', {message: reason(error)});
  }
  byId('create-submit').disabled = false;
});
