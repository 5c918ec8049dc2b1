// The beginning: session, login, the load of the tree, and the event stream.

import {get} from './api.js';
import {on} from './bus.js';
import {drawConnection, isConnected, setConnected} from './connection.js';
import {textsBegan} from './conversation.js';
import {byId} from './dom.js';
import {language, setLanguage, t, translatePage} from './i18n.js';
import {icon} from './icons.js';
import {counts, lastEventId, onLoaded, reload} from './intake.js';
import {showLogin} from './login.js';
import {restartFrom, share, sharing, wantTexts} from './sharing.js';
import {statusOf, store} from './store.js';
import {followedTask} from './tasks.js';
import './agent_header.js';
import './composer.js';
import './conversation_view.js';
import './create_agent.js';
import './panes.js';
import './questions.js';
import './queue_view.js';
import './receipts.js';
import './timeline.js';
import './tree_keys.js';
import './tree_tools.js';
import './tree_view.js';
import './usage.js';

// For tests and for a look with the developer tools. Nothing can be changed through it.
Object.defineProperty(window, 'agentcoreConsole', {value: Object.freeze({
  lastEventId,
  agentCount: () => store.count(),
  loaded: () => store.loaded,
  connected: isConnected,
  isLeader: sharing.isLeader,
  streamTexts: sharing.texts,
  wantedTexts: sharing.wanted,
  eventsApplied: () => counts().applied,
  eventsDropped: () => counts().dropped,
  selected: () => store.selected()?.id ?? null,
  statusOf: (id) => (store.find(id) ? statusOf(store.find(id)) : null),
  followedTask,
  language,
})});

function setUpPage() {
  for (const element of document.querySelectorAll('[data-icon]')) element.prepend(icon(element.dataset.icon));
  translatePage();
  drawConnection();
  const choice = byId('language');
  choice.value = language();
  choice.addEventListener('change', () => {
    setLanguage(choice.value);
    drawConnection();
  });
}

async function session() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const answer = await get('api/session');
      return answer;
    } catch {
      setConnected(false);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

async function begin() {
  setUpPage();
  const {login, tree} = await session();
  if (login === 'required') return showLogin();
  byId('logout').hidden = login !== 'done';
  byId('app').hidden = false;
  if (!tree) {
    byId('tree-empty').textContent = t('noTree');
    return undefined;
  }
  on('select', (node) => wantTexts(node ? [node.id] : []));
  await reload();
  onLoaded(restartFrom);
  return share({onStatus: setConnected, onTexts: textsBegan});
}

begin();
