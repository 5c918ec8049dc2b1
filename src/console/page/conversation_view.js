// The middle of the page: draws the conversation, keeps the place in it, and loads earlier pages at its top.

import {agentPath, post} from './api.js';
import {on} from './bus.js';
import {conversation, loadEarlier, messagesInOrder} from './conversation.js';
import {byId, h, onNextFrame, setText} from './dom.js';
import {language, t, word} from './i18n.js';
import {callElement, messageElement, reasoningElement} from './message_view.js';
import {toast} from './toast.js';
import {reason} from './verbs.js';

const box = byId('messages');
const list = byId('message-list');
const liveBox = byId('live');
const callBox = byId('loose-calls');
const drawn = new Map(); // index -> {key, element}
let atEnd = true;
let parts = new Set();   // what has to be drawn

const draw = onNextFrame(() => {
  const what = parts;
  parts = new Set();
  if (!conversation) return clear();
  if (what.has('open')) {
    clear();
    atEnd = true;
  }
  const height = box.scrollHeight;
  const top = box.scrollTop;
  if (what.has('open') || what.has('all') || what.has('earlier') || what.has('calls')) drawMessages();
  drawLive();
  drawCalls();
  drawHints();
  if (what.has('earlier')) box.scrollTop = top + box.scrollHeight - height;
  else if (atEnd) box.scrollTop = box.scrollHeight;
  return undefined;
});

function clear() {
  drawn.clear();
  list.replaceChildren();
  liveBox.replaceChildren();
  callBox.replaceChildren();
  drawHints();
}

function drawMessages() {
  const messages = messagesInOrder();
  const called = new Set(messages.flatMap((message) => (message.toolCalls ?? []).map((call) => call.id)));
  const outcomes = new Map();
  for (const message of messages) if (message.role === 'tool' && called.has(message.toolCallId)) outcomes.set(message.toolCallId, {text: message.open ? null : message.content, parts: message.parts});
  const shown = messages.filter((message) => !outcomes.has(message.toolCallId) || message.role !== 'tool');
  const wanted = new Set(shown.map((message) => message.index));
  for (const [index, {element}] of drawn) {
    if (wanted.has(index)) continue;
    element.remove();
    drawn.delete(index);
  }
  let next = null;
  for (let i = shown.length - 1; i >= 0; i--) next = drawMessage(shown[i], outcomes, next);
}

function drawMessage(message, outcomes, next) {
  const reasoning = conversation.reasoning.get(message.index) ?? message.reasoning;
  const calls = (message.toolCalls ?? []).map((call) => [conversation.calls.get(call.id), outcomes.get(call.id)]);
  const key = JSON.stringify([message, reasoning, calls, language()]);
  const old = drawn.get(message.index);
  if (old?.key === key) return old.element;
  const element = messageElement(message, {calls: conversation.calls, outcomes, reasoning});
  if (old) {
    keepOpen(old.element, element);
    old.element.replaceWith(element);
  } else {
    list.insertBefore(element, next);
  }
  drawn.set(message.index, {key, element});
  return element;
}

// What the person has unfolded stays unfolded.
function keepOpen(from, to) {
  const before = from.querySelectorAll('details');
  to.querySelectorAll('details').forEach((details, i) => { details.open = before[i]?.open ?? false; });
}

function drawLive() {
  const {live} = conversation;
  if (!live || (!live.text && !live.reasoning)) return liveBox.replaceChildren();
  const id = live.turn + '/' + live.call + '/' + language();
  if (liveBox.dataset.id !== id || !liveBox.firstElementChild) {
    const folded = reasoningElement('');
    folded.hidden = true;
    liveBox.dataset.id = id;
    liveBox.replaceChildren(h('article', {class: 'message assistant streaming'},
      h('header', {}, h('span', {class: 'who'}, t('role_assistant')), h('span', {class: 'mark live-mark'}, t('streaming'))),
      folded, h('div', {class: 'cut', hidden: true}, t('liveCut')), h('div', {class: 'text'})));
  }
  const [, folded, cutNote, text] = liveBox.firstElementChild.children;
  folded.hidden = !live.reasoning;
  setText(folded.lastElementChild, live.reasoning);
  cutNote.hidden = !live.truncated;
  return setText(text, live.text);
}

// Calls that run and are in no message that is shown: background tasks, and calls whose message is still on its way.
function drawCalls() {
  const inMessages = new Set([...conversation.messages.values()].flatMap((message) => (message.toolCalls ?? []).map((call) => call.id)));
  const loose = [...conversation.calls.values()].filter((call) => call.state === 'running' && !inMessages.has(call.callId));
  const key = JSON.stringify([loose, language()]);
  if (callBox.dataset.key === key && callBox.children.length === loose.length) return;
  callBox.dataset.key = key;
  callBox.replaceChildren(...loose.map((call) => callElement({id: call.callId, name: call.tool, arguments: call.arguments}, call)));
}

function drawHints() {
  const c = conversation;
  byId('no-agent').hidden = Boolean(c);
  byId('chat').hidden = !c;
  const earlier = byId('load-earlier');
  earlier.hidden = !c || c.first === 0;
  if (c) setText(earlier, t('loadEarlier') + ' (' + t('earlier', {n: c.first}) + ')');
  const note = byId('chat-note');
  const empty = c && !c.messages.size && !c.live;
  note.hidden = !empty;
  if (empty) setText(note, c.loading ? t('loading') : c.failure ? t('loadFailed', {message: reason(c.failure)}) : t('noMessages'));
  byId('to-end').hidden = atEnd || !c;
}

async function earlier() {
  try {
    await loadEarlier();
  } catch (error) {
    toast('error', t('loadFailed', {message: reason(error)}));
  }
}

box.addEventListener('scroll', () => {
  atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  byId('to-end').hidden = atEnd;
  if (box.scrollTop < 60 && conversation?.first > 0) earlier();
}, {passive: true});

byId('load-earlier').addEventListener('click', earlier);
byId('to-end').addEventListener('click', () => {
  atEnd = true;
  box.scrollTop = box.scrollHeight;
});

byId('chat').addEventListener('click', async (event) => {
  const button = event.target.closest('.cancel-call');
  if (!button) return;
  button.disabled = true;
  const {callId, kind} = button.dataset;
  const path = kind === 'background' ? 'api/background/' + encodeURIComponent(callId) : agentPath(conversation.id) + '/calls/' + encodeURIComponent(callId);
  try {
    const answer = await post(path + '/cancel');
    toast(answer.cancelled ? 'success' : 'info', answer.cancelled ? t('cancelled') : word('code', answer.reason));
  } catch (error) {
    button.disabled = false;
    toast('error', t('actionFailed', {message: reason(error)}));
  }
});

const redraw = (part) => {
  parts.add(part);
  draw();
};
on('conversation', redraw);
on('language', () => redraw('all'));
new ResizeObserver(() => { if (atEnd) box.scrollTop = box.scrollHeight; }).observe(box);
