// A question to the person, as a modal <dialog>. The promise is true if it was confirmed.

import {byId} from './dom.js';
import {t} from './i18n.js';

export function confirmDialog({title, body, confirm, danger = false}) {
  const dialog = byId('confirm');
  byId('confirm-title').replaceChildren(title);
  byId('confirm-body').replaceChildren(body);
  const yes = byId('confirm-yes');
  yes.textContent = confirm;
  yes.classList.toggle('danger', danger);
  byId('confirm-no').textContent = t('cancel');
  dialog.returnValue = '';
  dialog.showModal();
  byId('confirm-no').focus();
  return new Promise((done) => {
    dialog.addEventListener('close', () => done(dialog.returnValue === 'yes'), {once: true});
  });
}
