// Tasks: a form, the list with the status of each, and Terminate. One task at a time is followed over a stream of its own, because a
// browser has few connections to a server; the others are asked for when a turn with their id begins or ends.

import {get, post} from './api.js';
import {on} from './bus.js';
import {atMostEvery, byId, h, nameElement, onNextFrame} from './dom.js';
import {t, word} from './i18n.js';
import {toast} from './toast.js';
import {reason} from './verbs.js';

const form = byId('task-form');
const list = byId('task-list');
const most = 50;
const endings = new Set(['terminated', 'complete', 'error']);
let tasks = [];
const results = new Map(); // taskId -> the result of a task that has ended; the list of the server has none
let followed = null; // {taskId, source}

async function load() {
  try {
    tasks = (await get('tasks')).tasks.slice(0, most);
    draw();
    await loadResults();
  } catch { /* asked again by the next event */ }
}

async function loadResults() {
  for (const id of results.keys()) if (!tasks.some((task) => task.taskId === id)) results.delete(id);
  for (const task of tasks) {
    if (isOpen(task) || results.has(task.taskId)) continue;
    results.set(task.taskId, (await get('tasks/' + encodeURIComponent(task.taskId))).result);
    draw();
  }
}
const loadSoon = atMostEvery(500, load);

function follow(taskId) {
  unfollow();
  const source = new EventSource('tasks/' + encodeURIComponent(taskId) + '/events');
  followed = {taskId, source};
  source.onmessage = (message) => {
    let type = '';
    try { type = JSON.parse(message.data).type; } catch { /* not an event of a task */ }
    if (endings.has(type)) unfollow(taskId);
    loadSoon();
  };
  // The stream of a task that has ended is not opened again.
  source.onerror = () => {
    if (followed?.source !== source) return;
    unfollow(taskId);
    loadSoon();
  };
}

function unfollow(taskId = followed?.taskId) {
  if (!followed || followed.taskId !== taskId) return;
  followed.source.close();
  followed = null;
}

export const followedTask = () => followed?.taskId ?? null;

const stateOf = (status) => (status.startsWith('failed') ? 'failed' : status);
const isOpen = (task) => task.status === 'running' || task.status === 'pending';

const draw = onNextFrame(() => {
  byId('no-tasks').hidden = tasks.length > 0;
  list.replaceChildren(...tasks.map((task) => {
    const state = stateOf(task.status);
    const running = isOpen(task);
    const result = results.get(task.taskId);
    const answer = result?.response;
    return h('li', {class: 'card task', dataset: {taskId: task.taskId}},
      h('header', {}, h('span', {class: 'mark' + (running ? ' accent' : '')}, t('task_' + state)), h('span', {class: 'mono'}, task.taskId.slice(0, 40)),
        nameElement(task.agentId, 40),
        running && h('button', {class: 'button danger quiet', type: 'button', dataset: {terminate: ''}, 'aria-label': t('terminate') + ': ' + task.taskId.slice(0, 40)}, t('terminate'))),
      state === 'failed' && h('p', {class: 'muted'}, word('code', task.errorCode, task.status.replace(/^failed: /, ''))),
      answer && h('p', {class: 'text clamp'}, typeof answer === 'string' ? answer : JSON.stringify(answer)));
  }));
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const prompt = form.elements.prompt.value.trim();
  const agentId = form.elements.agentId.value;
  if (!prompt) return;
  byId('task-submit').disabled = true;
  try {
    const {taskId} = await post('tasks', agentId ? {agentId, prompt} : {prompt});
    form.elements.prompt.value = '';
    follow(taskId);
    await load();
  } catch (error) {
    toast('error', t('actionFailed', {message: reason(error)}));
  }
  byId('task-submit').disabled = false;
});

list.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-terminate]');
  if (!button) return;
  const {taskId} = button.closest('.task').dataset;
  button.disabled = true;
  try {
    await post('tasks/' + encodeURIComponent(taskId) + '/terminate');
    unfollow(taskId);
    toast('success', t('terminated'));
  } catch (error) {
    toast('error', t('actionFailed', {message: reason(error)}));
  }
  load();
});

on('event', (event) => { if (event.taskId && (event.type === 'turn_started' || event.type === 'turn_ended')) loadSoon(); });
on('loaded', load);
on('language', draw);

// The field follows the selection until the person writes something else into it.
let proposed = '';
on('select', (node) => {
  const field = form.elements.agentId;
  if (field.value !== proposed) return;
  proposed = field.value = node?.id ?? '';
});
