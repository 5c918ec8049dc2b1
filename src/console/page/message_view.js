// One message of a conversation as an element: who, marks, reasoning, text, and the tool calls with what they gave.

import {h} from './dom.js';
import {whole} from './format.js';
import {t} from './i18n.js';
import {icon} from './icons.js';
import {richText} from './rich_text.js';

// `calls` maps a call id to what the events said of the call, `outcomes` to the message of the tool and its parts.
export function messageElement(message, {calls, outcomes, reasoning}) {
  const role = message.summary ? 'summary' : message.role;
  const marks = marksOf(message);
  const article = h('article', {class: 'message ' + role + (marks.length ? ' marked' : ''), dataset: {index: message.index}},
    h('header', {}, h('span', {class: 'who'}, message.summary ? t('summary') : t('role_' + message.role)),
      ...marks.map((mark) => h('span', {class: 'mark'}, mark))));
  if (reasoning) article.append(reasoningElement(reasoning));
  const text = textOf(message.content);
  if (message.summary || message.role === 'system') article.append(folded(message, text));
  else if (text) article.append(h('div', {class: 'body'}, richText(text)));
  if (message.parts?.length) article.append(partsElement(message.parts));
  for (const call of message.toolCalls ?? []) article.append(callElement(call, calls.get(call.id), outcomes.get(call.id)));
  return article;
}

// Images, documents and sounds: what each is, in words. None is ever loaded: an address may be anybody's.
export const partsElement = (parts) => h('ul', {class: 'parts'}, ...parts.map((part) => h('li', {class: 'part'}, partText(part))));

export const partText = ({kind, name, mediaType, bytes}) =>
  [t('part_' + kind), name, mediaType, bytes === null ? t('partAddress') : t('partBytes', {n: whole(bytes)})].filter(Boolean).join(' · ');

// A content that is not a string is shown as JSON.
function textOf(content) {
  if (content === null || content === undefined) return '';
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2);
}

function folded(message, text) {
  const first = text.split('\n', 1)[0];
  return h('details', {class: 'fold'}, h('summary', {}, first.length > 90 ? first.slice(0, 90) + '…' : first), h('div', {class: 'body'}, richText(text)));
}

export function marksOf(message) {
  const marks = [];
  if (message.steered) marks.push(t('steeredMark'));
  const ended = message.interruption ?? 'none';
  if (ended === 'none') return marks;
  if (message.role === 'assistant' && ended !== 'truncated') marks.push(t('partial'));
  marks.push(t('mark_' + ended));
  return marks;
}

export function reasoningElement(text) {
  return h('details', {class: 'fold reasoning'}, h('summary', {}, t('reasoning')), h('div', {class: 'text'}, text));
}

// Arguments arrive as JSON, or as a string with JSON in it.
function pretty(value) {
  if (value === undefined || value === null || value === '') return '';
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

const oneLine = (value) => pretty(value).replace(/\s+/g, ' ').slice(0, 160);

// The ends of which the library, not the tool, wrote the result.
const explained = new Set(['not_started', 'interrupted', 'abandoned', 'refused']);

// `call` is {id, name, arguments}; `known` comes from the events; `outcome` is {text, parts}, its text null if the call has not ended, or undefined.
export function callElement(call, known, given) {
  const outcome = given?.text;
  // Only the server knows how a call ended: a result alone does not say so.
  const state = known?.state ?? ((outcome ?? null) === null ? '' : 'ended');
  const running = known?.state === 'running';
  const summary = h('summary', {}, h('span', {class: 'tool-name'}, call.name ?? known?.tool ?? ''), h('span', {class: 'tool-args'}, oneLine(call.arguments)),
    state && h('span', {class: 'tool-state ' + state, title: known?.lingers ? t('stillRuns') : null}, t(running ? 'running' : 'call_' + state)));
  const details = h('details', {class: 'tool', open: false}, summary);
  const args = pretty(call.arguments);
  if (args) details.append(h('div', {class: 'tool-label'}, t('arguments')), h('pre', {class: 'code', tabindex: '0'}, args));
  const result = outcome ?? known?.message ?? (known?.progress || undefined);
  // How it ended is said in the language of the page; the result is what the model reads.
  const why = explained.has(state) && t('why_' + state);
  if (why) details.append(h('div', {class: 'tool-label'}, t('outcome')), h('div', {class: 'tool-why'}, why));
  if (result !== undefined) details.append(h('div', {class: 'tool-label'}, t(why ? 'forModel' : 'outcome')), h('pre', {class: 'code', tabindex: '0'}, result));
  const parts = given?.parts ?? known?.parts ?? [];
  if (parts.length) details.append(partsElement(parts));
  const box = h('div', {class: 'tool-box' + (running ? ' is-running' : '')}, details);
  if (running) box.append(cancelButton(call.id, known));
  return box;
}

function cancelButton(callId, known) {
  return h('button', {class: 'button quiet cancel-call', title: t('cancelCall'), 'aria-label': t('cancelCall') + ': ' + (known.tool ?? ''),
    disabled: Boolean(known.stopping), dataset: {callId, kind: known.kind ?? 'tool_call'}}, icon('close'), t('cancel'));
}
