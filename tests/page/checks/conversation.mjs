// The conversation in the middle, and the composer below it.

import assert from 'node:assert/strict';
import {answers, row, select, toastOf, until, untilStatus, untilText} from '../page.mjs';

export const checks = [
  {name: 'composer: a message is sent, shown as text, and answered', tags: '[Y1]', locale: 'en-US', async body({open}) {
    const page = await open();
    await select(page, 'scout');
    await page.locator('#composer-text').fill('<b>What</b> broke?\n/say Nothing <i>at all</i>.');
    await page.locator('#composer-text').press('Enter');
    await page.locator('.message.user', {hasText: '<b>What</b> broke?'}).waitFor();
    await answers(page).filter({hasText: 'Nothing <i>at all</i>.'}).waitFor();
    assert.equal(await page.locator('.message b, .message i').count(), 0);
  }},

  {name: 'composer: a running turn is steered, and Esc interrupts it', locale: 'en-US', async body({open}) {
    const page = await open();
    await select(page, 'scout');
    const field = page.locator('#composer-text');
    await field.fill('Begin.');
    await field.press('Enter');
    await untilText(page, 20);
    await page.getByLabel('now', {exact: true}).first().check({force: true});
    await field.fill('Look at the trace first');
    await page.locator('#composer-send', {hasText: 'Steer'}).click();
    await page.locator('.message.user', {hasText: 'Look at the trace first'}).locator('.mark', {hasText: 'steered'}).waitFor();
    await until(page, () => document.querySelector('#live .message > .text')?.textContent.includes('Look at the trace first'));
    await field.press('Escape');
    await untilStatus(page, 'scout', 'idle');
    await answers(page).last().locator('.mark', {hasText: 'interrupted'}).waitFor();
  }},

  {name: 'queue: its length is shown live, and a message can be removed', locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await api.send('scout', 'Begin.');
    await untilStatus(page, 'scout', 'waiting_llm');
    for (const text of ['first in line', 'second in line\n/say The second.']) await api.send('scout', text);
    await row(page, 'scout').locator('.queue', {hasText: '2'}).waitFor();
    await page.locator('#queue-box summary', {hasText: '2 queued'}).click();
    await page.locator('#queue-list li', {hasText: 'first in line'}).locator('button').click();
    await page.locator('#queue-box summary', {hasText: '1 queued'}).waitFor();
    await until(page, () => document.querySelectorAll('#queue-list li').length === 1);
    await row(page, 'scout').locator('.abort-btn').click();
    await answers(page).last().filter({hasText: 'The second.'}).waitFor();
    await until(page, () => document.querySelector('.row .queue').textContent === '');
  }},

  {name: 'conversation: images, documents and sounds are named, and none is loaded', locale: 'en-US', async body({open}) {
    const page = await open();
    const shown = await page.evaluate(async () => {
      const {callElement, messageElement} = await import('/message_view.js');
      const parts = [{kind: 'image', name: '', mediaType: '', bytes: null}, {kind: 'document', name: '<b>a.pdf</b>', mediaType: 'application/pdf', bytes: 48213}];
      const message = {index: 0, role: 'user', content: 'Look.', parts, toolCalls: []};
      const elements = [messageElement(message, {calls: new Map(), outcomes: new Map()}),
        callElement({id: 'c', name: 'look', arguments: '{}'}, undefined, {text: 'seen', parts: [parts[1]]})];
      return elements.map((element) => ({lines: [...element.querySelectorAll('.part')].map((part) => part.textContent),
        loads: element.querySelectorAll('img, audio, video, iframe, object, a, b').length}));
    });
    const named = 'document · <b>a.pdf</b> · application/pdf · 48,213 bytes';
    assert.deepEqual(shown, [{lines: ['image · an address, not loaded', named], loads: 0}, {lines: [named], loads: 0}]);
  }},

  {name: 'conversation: earlier messages are loaded at its top, in order', server: {model: {rate: 0, firstTokenMs: 0}}, locale: 'en-US', async body({api, open}) {
    for (let i = 0; i < 75; i++) {
      await api.send('scout', 'question number ' + i + '\n/say answer number ' + i);
      await api.untilStatus('scout', 'idle');
    }
    const page = await open();
    await select(page, 'scout');
    await page.locator('.message[data-index="149"]').waitFor();
    assert.equal(await page.locator('.message').count(), 50);
    for (const index of [50, 0]) {
      await page.locator('#messages').evaluate((box) => { box.scrollTop = 0; });
      await page.locator('.message[data-index="' + index + '"]').waitFor({state: 'attached'});
    }
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.message')].map((each) => Number(each.dataset.index))), Array.from({length: 150}, (_, i) => i));
  }},

  {name: 'conversation: is read again when the server says that text is missing', locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await api.send('scout', 'Begin.');
    await untilText(page, 20);
    const reads = (action) => Promise.all([page.waitForResponse((answer) => answer.url().includes('/conversation?')), action()]);
    await reads(() => page.evaluate(async () => {
      const {lastEventId} = await import('/intake.js');
      const {notify} = await import('/bus.js');
      const [epoch, n] = lastEventId().split('-');
      document.querySelector('#live .message > .text').textContent = '';
      notify('event', {type: 'text_gap', agentId: 'scout', turn: 1, call: 1}, epoch + '-' + (Number(n) + 1000));
    }));
    await untilText(page, 20);
  }},

  {name: 'agents: the header has the model and the role, and offers no verb that the role forbids', locale: 'en-US', async body({open}) {
    const page = await open();
    await select(page, 'scout');
    const shown = await page.evaluate(async () => {
      const {offered} = await import('/agent_header.js');
      const {store, upsert} = await import('/store.js');
      const agent = {...store.selected().agent};
      const of = (role) => {
        upsert({...agent, model: 'gpt-4o', role});
        return offered(store.selected()).join(' ');
      };
      return {normal: of('normal'), user: of('user'), system: of('system')};
    });
    assert.deepEqual(shown, {normal: 'pause stop remove', user: 'pause', system: 'pause stop'});
    await page.locator('#agent-facts', {hasText: 'gpt-4o · protected · '}).waitFor();
    assert.equal(await page.locator('#agent-verbs [data-verb=remove]').isHidden(), true);
  }},

  {name: 'agents: one is created below the selected one, and an id that is taken is refused with the cause', locale: 'en-US', expected: ['Failed to load resource'], async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await page.locator('#new-agent').click();
    const form = page.locator('#create-form');
    await form.locator('[name=id]').fill('scout');
    await page.locator('#create-submit').click();
    await page.locator('#create-error', {hasText: /\w/}).waitFor();
    await form.locator('[name=id]').fill('helper');
    await page.locator('#create-submit').click();
    await until(page, () => window.agentcoreConsole.selected() === 'helper');
    assert.equal((await api.get(api.of('helper'))).agent.parentAgentId, 'scout');
    assert.equal(await page.evaluate(() => window.agentcoreConsole.agentCount()), 2);
    await toastOf(page, 'success', 'helper').waitFor();
  }},
];
