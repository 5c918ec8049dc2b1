// Several tabs of one browser share one stream.

import assert from 'node:assert/strict';
import {applied, caughtUp, row, select, until, untilStatus, untilText} from '../page.mjs';

const network = ['Failed to load resource', 'net::ERR'];
const server = {agents: ['scout', 'editor'], proxied: true};

export const checks = [
  {name: 'tabs: two tabs have one stream, agree on every state, and each shows its text', server, expected: network, async body({server: {proxy}, api, open}) {
    const first = await open();
    const second = await open();
    assert.equal(proxy.streams(), 1);
    assert.deepEqual(await Promise.all([first, second].map((page) => page.evaluate(() => window.agentcoreConsole.isLeader()))), [true, false]);
    await select(first, 'scout');
    await select(second, 'editor');
    await until(first, () => window.agentcoreConsole.streamTexts().join() === 'editor,scout');
    for (const id of ['scout', 'editor']) await api.send(id, 'Tell me about ' + id + '.');
    await untilText(first, 60);
    await untilText(second, 60);
    assert.equal(proxy.streams(), 1);
    await row(second, 'scout').locator('.abort-btn').click();
    for (const page of [first, second]) await untilStatus(page, 'scout', 'idle');
    await row(first, 'editor').locator('.abort-btn').click();
    for (const page of [first, second]) await untilStatus(page, 'editor', 'idle');
    for (const [page, id] of [[first, 'scout'], [second, 'editor']]) {
      const kept = (await api.messages(id)).at(-1).content;
      await until(page, (text) => document.querySelector('.message.assistant .body')?.textContent === text, kept);
    }
  }},

  {name: 'tabs: when the tab with the stream is closed another one takes it over, and misses nothing', server, expected: network, async body({server: {proxy}, api, open}) {
    const first = await open();
    const second = await open();
    const third = await open();
    await caughtUp(second, await api.lastEventId());
    await caughtUp(third, await api.lastEventId());
    const bases = await Promise.all([second, third].map(applied));
    await first.close();
    for (let i = 0; i < 30; i++) await api.verb('scout', i % 2 ? 'unpause' : 'pause');
    const last = await api.lastEventId();
    for (const page of [second, third]) await caughtUp(page, last);
    assert.deepEqual(await Promise.all([second, third].map(applied)), bases.map((base) => base + 30));
    await api.until('one stream', async () => proxy.streams(), (count) => count === 1);
    const leaders = await Promise.all([second, third].map((page) => page.evaluate(() => window.agentcoreConsole.isLeader())));
    assert.equal(leaders.filter(Boolean).length, 1);
  }},
];
