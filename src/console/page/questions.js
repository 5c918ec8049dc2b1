// Questions to a person, and approvals of tool calls: each with an answer, an approval or a refusal.

import {get, post} from './api.js';
import {on} from './bus.js';
import {byId, cut, h, nameElement, onNextFrame, setText} from './dom.js';
import {t} from './i18n.js';
import {select, store} from './store.js';
import {toast} from './toast.js';
import {showNode} from './tree_view.js';
import {reason} from './verbs.js';

const open = new Map();  // id -> question
const cards = new Map(); // id -> element
const list = byId('question-list');

async function load() {
  try {
    const {questions} = await get('api/questions');
    open.clear();
    for (const question of questions) open.set(question.id, question);
    draw();
  } catch { /* the next load brings them */ }
}

const draw = onNextFrame(() => {
  for (const [id, card] of cards) {
    if (open.has(id)) continue;
    card.remove();
    cards.delete(id);
  }
  for (const question of open.values()) {
    if (cards.has(question.id)) continue;
    const card = cardOf(question);
    cards.set(question.id, card);
    list.append(card);
  }
  byId('no-questions').hidden = open.size > 0;
  setText(byId('question-count'), open.size ? String(open.size) : '');
  setText(byId('question-count-narrow'), open.size ? String(open.size) : '');
  const node = store.selected();
  const mine = node ? [...open.values()].filter((question) => question.agentId === node.id).length : 0;
  byId('chat-questions').hidden = mine === 0;
  setText(byId('chat-questions'), t('questionsWait', {n: mine}));
  document.title = (open.size ? '(' + open.size + ') ' : '') + 'agentcore console';
});

function cardOf(question) {
  const approval = question.kind === 'approval';
  const card = h('li', {class: 'card question', dataset: {id: question.id}},
    h('header', {}, h('span', {class: 'mark attention'}, t(approval ? 'approval' : 'question')),
      h('button', {class: 'link', type: 'button', dataset: {goto: ''}}, nameElement(question.agentId, 40)),
      question.tool && h('span', {class: 'mono muted'}, cut(question.tool, 60))),
    h('p', {class: 'text'}, question.text));
  card.append(approval ? approvalForm() : answerForm(question));
  return card;
}

function answerForm(question) {
  const form = h('form', {class: 'answer', dataset: {action: 'answer'}});
  if (question.choices?.length) {
    form.append(h('div', {class: 'choices'}, question.choices.map((choice) => h('button', {class: 'button', type: 'button', dataset: {choice}}, cut(choice, 80)))));
  }
  form.append(h('div', {class: 'line'},
    h('input', {class: 'field', name: 'text', 'aria-label': t('yourAnswer'), placeholder: t('yourAnswer'), autocomplete: 'off'}),
    h('button', {class: 'button primary', type: 'submit'}, t('answer')),
    h('button', {class: 'button quiet', type: 'button', dataset: {decline: ''}}, t('decline'))));
  return form;
}

function approvalForm() {
  return h('form', {class: 'answer', dataset: {action: 'approve'}}, h('div', {class: 'line'},
    h('select', {class: 'field', name: 'scope', 'aria-label': t('scope')}, ['once', 'agent', 'subtree'].map((scope) => h('option', {value: scope}, t('scope_' + scope)))),
    h('button', {class: 'button primary', type: 'submit'}, t('approve')),
    h('button', {class: 'button quiet', type: 'button', dataset: {decline: ''}}, t('decline'))));
}

async function close(card, verb, body, done) {
  for (const control of card.querySelectorAll('button, input, select')) control.disabled = true;
  try {
    await post('api/questions/' + encodeURIComponent(card.dataset.id) + '/' + verb, body);
    open.delete(card.dataset.id);
    toast('success', t(done));
    draw();
  } catch (error) {
    for (const control of card.querySelectorAll('button, input, select')) control.disabled = false;
    toast('error', t('actionFailed', {message: reason(error)}));
    if (error.status === 409 || error.status === 404) load();
  }
}

list.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.target;
  const card = form.closest('.question');
  if (form.dataset.action === 'approve') close(card, 'approve', {scope: form.elements.scope.value}, 'approved');
  else if (form.elements.text.value.trim()) close(card, 'answer', {text: form.elements.text.value}, 'answered');
  else form.elements.text.focus();
});

list.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  const card = event.target.closest('.question');
  if (!button || !card) return;
  if ('choice' in button.dataset) close(card, 'answer', {text: button.dataset.choice}, 'answered');
  else if ('decline' in button.dataset) close(card, 'decline', {}, 'declined');
  else if ('goto' in button.dataset) {
    const node = store.find(open.get(card.dataset.id)?.agentId);
    if (!node) return;
    showNode(node);
    select(node);
  }
});

on('event', (event) => {
  if (event.type === 'question') open.set(event.question.id, event.question);
  else if (event.type === 'question_closed') open.delete(event.questionId);
  else return;
  draw();
});
on('loaded', load);
on('select', draw);
on('language', () => {
  for (const [id, card] of cards) {
    const text = card.querySelector('[name=text]')?.value;
    card.remove();
    const fresh = cardOf(open.get(id));
    if (text) fresh.querySelector('[name=text]').value = text;
    cards.set(id, fresh);
    list.append(fresh);
  }
  draw();
});
