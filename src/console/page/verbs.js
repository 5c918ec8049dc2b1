// The verbs on agents: what is asked of the server, what is shown before it answers, and what is taken back if it refuses.

import {agentPath, get, post, request} from './api.js';
import {confirmDialog} from './dialog.js';
import {nameElement} from './dom.js';
import {counted, parts, t} from './i18n.js';
import {isHidden, select, setGuess, setHidden, statusOf, store, subtreeOf, upsert, forget} from './store.js';
import {toast} from './toast.js';

const guessLifetime = 10000; // ms after a success: a guess that no event has confirmed is given up

export const reason = (error) => (error.network ? t('networkError') : error.message);

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

export async function stop(node, when = 'now') {
  const guessed = when === 'now' ? subtreeOf(node).filter((each) => !['stopped', 'terminating'].includes(statusOf(each))) : [];
  for (const each of guessed) setGuess(each, 'stopped');
  const takeBack = () => {
    for (const each of guessed) if (each.guess === 'stopped') setGuess(each, null);
  };
  try {
    const answer = await post(agentPath(node.id) + '/stop', {when});
    if (!answer.stopped) toast('info', ...named('stopNothing', node));
    else toast('success', ...named(when === 'now' ? 'stopDone' : 'stopDeferred', node));
    if (answer.stopped) setTimeout(takeBack, guessLifetime);
    else takeBack();
  } catch (error) {
    takeBack();
    failed('stop', node, error);
  }
}

async function simple(verb, node, field, done) {
  try {
    const answer = await post(agentPath(node.id) + '/' + verb);
    const effect = field === 'paused' ? !answer.reason : answer[field];
    if (effect) toast('success', ...named(done, node));
    else toast('info', ...named('noEffect', node, {message: answer.reason ?? ''}));
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
  try {
    const answer = await request('DELETE', agentPath(node.id));
    if (answer.terminated) toast('success', ...named('removeDone', node));
    else {
      takeBack();
      toast('info', ...named('noEffect', node, {message: answer.reason ?? ''}));
    }
  } catch (error) {
    if (error.code === 'agent_not_found') {
      forget(node);
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
