// The event stream: nothing lost, nothing doubled, and what happens when the server is gone.

import assert from 'node:assert/strict';
import {applied, caughtUp, row, select, toastOf, until, untilStatus} from '../page.mjs';

const network = ['Failed to load resource', 'net::ERR'];

// Events of the server that are not text, after the event `id`.
const eventsAfter = (witness, id) => {
  const number = (each) => Number(each.slice(each.lastIndexOf('-') + 1));
  return witness.events.filter((event) => event.id && number(event.id) > number(id)).length;
};

async function flicker(api, id, times) {
  for (let i = 0; i < times; i++) await api.verb(id, i % 2 ? 'unpause' : 'pause');
}

const shown = (page, text) => until(page, (wanted) => document.querySelector('.message.assistant[data-index]:last-of-type .body')?.textContent === wanted, text);

export const checks = [
  {name: 'stream: cut many times, no event is lost or applied twice', server: {proxied: true}, expected: network, async body({server, api, open}) {
    const page = await open();
    const begin = await api.lastEventId();
    await caughtUp(page, begin);
    const base = await applied(page);
    for (let round = 0; round < 2; round++) {
      await flicker(api, 'scout', 10);
      server.proxy.cutStreams();
      await flicker(api, 'scout', 10);
      const last = await api.lastEventId();
      await caughtUp(page, last);
      await server.witness.until((events) => events.some((event) => event.id === last), 'the witness has the last event');
    }
    assert.equal(eventsAfter(server.witness, begin), 40);
    assert.equal(await applied(page) - base, 40);
    assert.equal(await page.evaluate(() => window.agentcoreConsole.eventsDropped()), 0);
    assert.ok(server.proxy.streamsOpened >= 3);
    assert.equal(server.proxy.streams(), 1);
  }},

  {name: 'stream: streaming text stays whole over cuts and changes of the selection', server: {agents: ['scout', 'editor'], proxied: true}, expected: network,
    async body({server, api, open}) {
      const page = await open();
      for (const id of ['scout', 'editor']) await api.send(id, 'Tell me about ' + id + '.');
      const witnesses = {};
      await page.exposeFunction('textIs', (id, text) => { (witnesses[id] ??= []).push(text); });
      await page.evaluate(() => new MutationObserver(() => {
        const text = document.querySelector('#live .message > .text')?.textContent;
        if (text) window.textIs(window.agentcoreConsole.selected(), text);
      }).observe(document.getElementById('live'), {subtree: true, childList: true, characterData: true}));
      for (const id of ['scout', 'editor']) {
        await select(page, id);
        const before = (witnesses[id] ?? []).length;
        await until(page, () => document.querySelector('#live .message > .text')?.textContent.length > 30);
        server.proxy.cutStreams();
        await api.until('text after the cut', async () => (witnesses[id] ?? []).length, (count) => count > before + 5);
      }
      for (const id of ['scout', 'editor']) {
        await select(page, id);
        await api.verb(id, 'abort');
        await untilStatus(page, id, 'idle');
        const whole = (await api.messages(id)).at(-1).content;
        await shown(page, whole);
        assert.ok(witnesses[id].length > 5);
        for (const text of witnesses[id]) assert.ok(whole.startsWith(text), JSON.stringify({id, text, whole}));
      }
    }},

  {name: 'stream: another selection opens another stream, and no event is lost in between', server: {agents: ['scout', 'editor']}, async body({api, open}) {
    const page = await open();
    await caughtUp(page, await api.lastEventId());
    const base = await applied(page);
    for (const id of ['scout', 'editor', 'scout']) {
      let pass;
      const passing = new Promise((done) => { pass = done; });
      const asked = new Promise((done) => { page.route('**/api/events?*', async (route) => { done(); await passing; await route.continue(); }, {times: 1}); });
      await select(page, id);
      await asked; // the old stream is closed, the new one is not open yet
      await flicker(api, id, 20);
      pass();
      await caughtUp(page, await api.lastEventId());
    }
    assert.equal(await applied(page) - base, 60);
  }},

  {name: 'stream: when the server cannot be reached the page says so, and when it can be again it has missed nothing', server: {proxied: true}, locale: 'en-US', expected: network,
    async body({server, api, open}) {
      const page = await open();
      await caughtUp(page, await api.lastEventId());
      const base = await applied(page);
      await server.proxy.down();
      await page.locator('#banner', {hasText: 'disconnected, retrying'}).waitFor();
      await toastOf(page, 'error', 'connection to the server was lost').waitFor();
      await flicker(api, 'scout', 3);
      await server.proxy.up();
      await page.locator('#banner').waitFor({state: 'hidden'});
      await toastOf(page, 'success', 'Connected again').waitFor();
      await row(page, 'scout').locator('.mark', {hasText: 'Paused'}).waitFor();
      assert.equal(await applied(page) - base, 3);
    }},

  {name: 'stream: a server that died and was started again is loaded again, and the selection stays', server: {agents: ['scout', 'editor'], keep: true}, expected: network,
    async body({server, api, open}) {
      const page = await open();
      await select(page, 'scout');
      await api.send('scout', 'Keep this.\n/say It is kept.');
      await page.locator('.message.assistant', {hasText: 'It is kept.'}).waitFor();
      await untilStatus(page, 'scout', 'idle');
      await server.kill();
      await toastOf(page, 'error', '与服务器的连接已断开').waitFor();
      await server.startAgain();
      await api.create('newcomer');
      await toastOf(page, 'success', '已重新连接').waitFor();
      await row(page, 'newcomer').waitFor();
      assert.equal(await page.evaluate(() => window.agentcoreConsole.selected()), 'scout');
      await page.locator('.message.assistant', {hasText: 'It is kept.'}).waitFor();
      await api.send('scout', 'go');
      await row(page, 'scout').locator('.abort-btn').waitFor();
      await caughtUp(page, await api.lastEventId()).catch(() => {});
    }},
];
