// Whether the page is connected: the mark in the header, the banner, and a message when it changes.

import {get} from './api.js';
import {notify} from './bus.js';
import {byId, setText} from './dom.js';
import {t} from './i18n.js';
import {toast} from './toast.js';

let connected = null; // null: not known yet

export const isConnected = () => connected === true;

export function setConnected(next) {
  if (next === connected) return;
  const before = connected;
  connected = next;
  drawConnection();
  if (!next) {
    toast('error', t('disconnectedToast'));
    askWhy();
  } else if (before === false) {
    toast('success', t('reconnectedToast'));
  }
  notify('connection', next);
}

export function drawConnection() {
  byId('banner').hidden = connected !== false;
  setText(byId('banner-text'), t('disconnected'));
  byId('connection').dataset.state = connected === null ? 'unknown' : connected ? 'up' : 'down';
  setText(byId('connection-text'), t(connected === null ? 'loading' : connected ? 'connected' : 'disconnected'));
}

// The stream may have ended because the session has.
async function askWhy() {
  try {
    if ((await get('api/session')).login === 'required') notify('login');
  } catch { /* the server is gone; the stream goes on trying */ }
}
