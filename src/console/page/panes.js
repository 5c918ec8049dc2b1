// Which part of the page is in view: the tabs of the activity pane, and the three panes of a narrow window.

import {on} from './bus.js';
import {byId} from './dom.js';
import {redrawReceipts} from './receipts.js';
import {redrawTimeline} from './timeline.js';

const tabs = [...document.querySelectorAll('#tabs [role=tab]')];

export function showTab(name) {
  for (const tab of tabs) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute('aria-selected', String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId('panel-' + tab.dataset.tab).hidden = !chosen;
  }
  if (name === 'timeline') redrawTimeline();
  if (name === 'receipts') redrawReceipts();
}

export function showPane(name) {
  document.body.dataset.pane = name;
  for (const button of document.querySelectorAll('#panes [data-pane-of]')) {
    button.setAttribute('aria-pressed', String(button.dataset.paneOf === name));
  }
  if (name === 'activity') showTab(tabs.find((tab) => tab.getAttribute('aria-selected') === 'true').dataset.tab);
}

byId('tabs').addEventListener('click', (event) => {
  const tab = event.target.closest('[role=tab]');
  if (tab) showTab(tab.dataset.tab);
});

byId('tabs').addEventListener('keydown', (event) => {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const at = tabs.indexOf(document.activeElement);
  const next = tabs[(at + step + tabs.length) % tabs.length];
  event.preventDefault();
  next.focus();
  showTab(next.dataset.tab);
});

byId('panes').addEventListener('click', (event) => {
  const button = event.target.closest('[data-pane-of]');
  if (button) showPane(button.dataset.paneOf);
});

byId('chat-questions').addEventListener('click', () => {
  showPane('activity');
  showTab('questions');
  document.querySelector('#question-list input, #question-list button')?.focus();
});

on('select', (node) => { if (node) showPane('chat'); });

showTab('timeline');
showPane('tree');
