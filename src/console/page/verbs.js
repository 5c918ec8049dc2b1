// The verbs on agents: what is asked of the server, what is shown before it answers, and what is taken back if it refuses.

import {agentPath, get, post, request} from './api.js';
import {confirmDialog} from './dialog.js';
import {nameElement} from './dom.js';
import {on} from './bus.js';
import {counted, parts, t, word} from './i18n.js';
import {isHidden, isWithin, select, setGuess, setHidden, statusOf, store, subtreeOf, upsert, forget} from './store.js';
import {toast} from './toast.js';

const guessLifetime = 10000; // ms after a success: a guess that no event has confirmed is given up

// Why a request failed, in the language of the page. The sentence of the server is shown if its code has no words here.
export const reason = (error) => (error.network ? t('networkError') : word('code', error.code, error.message));

const notStored = (answer) => word('code', answer.persistReason, answer.persistError);

const named = (key, node, values = {}) => parts(key, {name: nameElement(node.id, 40), ...values});

const failed = (key, node, error) => toast('error', ...named('failed', node, {what: t(key), message: reason(error)}));

// ---- abort and interrupt ------------------------------------------------------------------------------------------------------------

export async function abort(node) {
  try {
    const answer = await post(agentPath(node.id) + '/abort');
    toast(answer.aborted ? 'success' : 'info', t(answer.aborted ? 'abortDone' : 'abortNothing'));
    await refresh(node);
  } catch (error) {
    toast('error', t('abortFailed', {message: reason(error)}));
    if (error.network) console.error('中断 LLM 调用失败:', error.cause ?? error);
    else await refresh(node);
  }
}

export async function interrupt(node) {
  try {
    const answer = await post(agentPath(node.id) + '/interrupt');
    toast(answer.interrupted ? 'success' : 'info', t(answer.interrupted ? 'interruptDone' : 'interruptNothing'));
    await refresh(node);
  } catch (error) {
    failed('interrupt', node, error);
  }
}

// Asks for the state of one agent. Events that arrive before the answer are newer than it, or as new: then the answer is not used.
export async function refresh(node) {
  const before = node.changes;
  try {
    const {agent} = await get(agentPath(node.id));
    if (store.find(node.id) === node && node.changes === before) upsert(agent);
  } catch { /* the events bring the state */ }
}

// ---- stop, pause, resume ------------------------------------------------------------------------------------------------------------

export const reach = (node) => subtreeOf(node).length;

// A stop or a delete has two steps. Accepted: the gate is closed, and the row says so. Settled: nothing of the agent runs any more, or it
// was given up: only then is success said. The events of the second step may come before the answer to the first.
const settling = new Map(); // id -> {abandoned, settled, accepted, done}

function watchSettling(node, done) {
  const watched = {root: node, abandoned: [], settled: false, accepted: false, done};
  settling.set(node.id, watched);
  return watched;
}

function endSettling(id, watched) {
  if (!watched.settled || !watched.accepted) return;
  if (settling.get(id) === watched) settling.delete(id);
  watched.done(watched.abandoned);
}

on('event', (event) => {
  if (event.type === 'abandoned') {
    const agent = store.find(event.agentId);
    for (const watched of settling.values()) if (agent && isWithin(agent, watched.root)) watched.abandoned.push(event.tool || t('modelCall'));
  }
  const watched = settling.get(event.agentId);
  if (!watched || (event.type !== 'settled' && event.type !== 'deleted')) return;
  watched.settled = true;
  endSettling(event.agentId, watched);
});
on('loaded', () => settling.clear()); // what was missed is not known

// `key`: the text of a success. A call that was given up may still run: that is no success.
function toastSettled(key, node) {
  return (abandoned) => {
    if (abandoned.length === 0) toast('success', ...named(key, node));
    else toast('error', ...named(key + 'Abandoned', node, {calls: [...new Set(abandoned)].slice(0, 5).join(', ')}));
  };
}

export async function stop(node, when = 'now') {
  const guessed = when === 'now' ? subtreeOf(node).filter((each) => !['stopping', 'stopped', 'terminating'].includes(statusOf(each))) : [];
  for (const each of guessed) setGuess(each, 'stopping');
  const takeBack = () => {
    for (const each of guessed) if (each.guess === 'stopping') setGuess(each, null);
  };
  const watched = watchSettling(node, toastSettled('stopDone', node));
  try {
    const answer = await post(agentPath(node.id) + '/stop', {when});
    if (!answer.stopped) toast('info', ...named('stopNothing', node));
    else if (when !== 'now') toast('info', ...named('stopDeferred', node));
    if (answer.stopped && answer.persisted === false) toast('error', ...named('notPersisted', node, {message: notStored(answer)}));
    watched.accepted = answer.stopped === true && when === 'now';
    if (watched.accepted) {
      setTimeout(takeBack, guessLifetime);
      endSettling(node.id, watched);
    } else {
      settling.delete(node.id);
      takeBack();
    }
  } catch (error) {
    settling.delete(node.id);
    takeBack();
    failed('stop', node, error);
  }
}

async function simple(verb, node, field, done) {
  try {
    const answer = await post(agentPath(node.id) + '/' + verb);
    const effect = field === 'paused' ? !answer.reason : answer[field];
    if (effect) toast('success', ...named(done, node));
    else toast('info', ...named('noEffect', node, {message: word('code', answer.reason)}));
    await refresh(node);
  } catch (error) {
    failed(verb, node, error);
  }
}

export const pause = (node) => simple('pause', node, 'paused', 'pauseDone');
export const unpause = (node) => simple('unpause', node, 'paused', 'unpauseDone');
export const resume = (node) => simple('resume', node, 'resumed', 'resumeDone');
export const release = (node) => simple('release', node, 'released', 'releaseDone');

// ---- delete -------------------------------------------------------------------------------------------------------------------------

export async function remove(node) {
  const n = reach(node);
  const sure = await confirmDialog({
    title: t('remove'),
    body: fragment(n === 1 ? parts('removeBody1', {name: nameElement(node.id, 60)}) : parts('removeBody', {name: nameElement(node.id, 60), n})),
    confirm: n === 1 ? t('remove') : t('removeConfirm', {n}),
    danger: true,
  });
  if (!sure || store.find(node.id) !== node) return;
  const wasSelected = store.selected();
  setHidden(node, true);
  if (wasSelected && isHidden(wasSelected)) select(node.parent);
  const takeBack = () => {
    setHidden(node, false);
    if (wasSelected && store.selected() === node.parent) select(wasSelected);
  };
  const watched = watchSettling(node, toastSettled('removeDone', node));
  try {
    const answer = await request('DELETE', agentPath(node.id));
    if (answer.persisted === false) toast('error', ...named('notPersisted', node, {message: notStored(answer)}));
    watched.accepted = answer.terminated === true;
    endSettling(node.id, watched);
    if (!answer.terminated) {
      settling.delete(node.id);
      takeBack();
      toast('info', ...named('noEffect', node, {message: word('code', answer.reason)}));
    }
  } catch (error) {
    settling.delete(node.id);
    if (error.code === 'agent_not_found') {
      if (store.find(node.id) === node) forget(node);
      toast('success', ...named('removeDone', node));
      return;
    }
    takeBack();
    failed('remove', node, error);
  }
}

function fragment(nodes) {
  const result = document.createDocumentFragment();
  result.append(...nodes);
  return result;
}

export const reachText = (verb, n) => counted(verb + 'Reach', n);
