// The form that asks for the access token. The token goes into the body of POST /login and nowhere else; the server answers with a cookie.

import {post} from './api.js';
import {on} from './bus.js';
import {byId} from './dom.js';
import {t} from './i18n.js';
import {reason} from './verbs.js';

const form = byId('login-form');

export function showLogin() {
  if (!byId('login').hidden) return;
  byId('app').hidden = true;
  byId('login').hidden = false;
  form.elements.token.focus();
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  byId('login-error').textContent = '';
  try {
    await post('login', {token: form.elements.token.value});
    form.reset();
    location.reload();
  } catch (error) {
    byId('login-error').textContent = error.status === 401 ? t('loginFailed') : t('actionFailed', {message: reason(error)});
    form.elements.token.select();
  }
});

byId('logout').addEventListener('click', async () => {
  try {
    await post('logout');
  } finally {
    location.reload();
  }
});

on('login', showLogin);
