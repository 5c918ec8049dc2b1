// Short messages that disappear after three seconds. They are announced by the live region that holds them.

import {byId, h} from './dom.js';

const lifetime = 3000;
const most = 5;

// `kind` is success, info or error. `parts` are texts and elements.
export function toast(kind, ...parts) {
  const box = byId('toasts');
  const element = h('div', {class: 'toast ' + kind}, h('span', {class: 'toast-text'}, ...parts));
  box.append(element);
  while (box.children.length > most) box.firstElementChild.remove();
  setTimeout(() => element.remove(), lifetime);
}

// Announces without a picture: what happens to the selected agent.
export function announce(text) {
  byId('announcer').textContent = text;
}
