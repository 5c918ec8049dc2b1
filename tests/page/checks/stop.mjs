// Stop, resume and pause: what they reach, what is shown before the server answers, and what is taken back.

import assert from 'node:assert/strict';
import {hold, row, select, toastOf, until, untilStatus, verb} from '../page.mjs';

const tree = ['lead', 'lead/scout', 'lead/editor', 'other'];
const resource = 'Failed to load resource';

export const checks = [
  {name: 'stop: shown at once for the subtree, and confirmed by the server; resume opens it again', tags: '[H10][H11][X47]', server: {agents: tree}, async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await untilStatus(page, 'scout', 'waiting_llm');
    await select(page, 'lead');
    await page.locator('#reach', {hasText: /^将停止 3 个智能体$/}).waitFor();
    const held = await hold(page, '/stop');
    await verb(page, 'stop').click();
    await held.asked;
    await row(page, 'editor').locator('.compute-status.stopping').waitFor();
    assert.equal(await row(page, 'scout').locator('.abort-btn').count(), 0);
    assert.equal(await api.status('scout'), 'waiting_llm');
    await held.release();
    await toastOf(page, 'success').waitFor();
    for (const id of ['lead', 'scout', 'editor']) await api.untilStatus(id, 'stopped');
    assert.equal(await api.status('other'), 'idle');
    await page.locator('#composer-text:disabled').waitFor();
    await verb(page, 'resume').click();
    await untilStatus(page, 'scout', 'idle');
    await row(page, 'scout').locator('.compute-status').waitFor({state: 'detached'});
  }},

  {name: 'stop: taken back, with the cause, when the server refuses', tags: '[H14]', server: {agents: tree}, expected: [resource], async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await untilStatus(page, 'scout', 'waiting_llm');
    await select(page, 'lead');
    const held = await hold(page, '/stop');
    await verb(page, 'stop').click();
    await held.asked;
    await untilStatus(page, 'scout', 'stopping');
    await held.release({postData: '{"when":"some day"}'});
    await untilStatus(page, 'scout', 'waiting_llm');
    await untilStatus(page, 'editor', 'idle');
    await row(page, 'scout').locator('.abort-btn').waitFor();
    assert.equal(await toastOf(page, 'error').textContent(), 'lead 停止失败: 请求无效');
  }},

  {name: 'stop: taken back when the server is gone', server: {agents: tree}, expected: [resource, 'net::ERR'], async body({server, api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await untilStatus(page, 'scout', 'waiting_llm');
    await select(page, 'lead');
    const held = await hold(page, '/stop');
    await verb(page, 'stop').click();
    await held.asked;
    await untilStatus(page, 'scout', 'stopping');
    await server.kill();
    await held.release();
    await untilStatus(page, 'scout', 'waiting_llm');
    await toastOf(page, 'error', 'lead 停止失败: 无法连接服务器').waitFor();
  }},

  {name: 'stop: after this turn, it waits for the end of the turn', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await select(page, 'scout');
    await page.locator('#stop-when').selectOption('after_turn');
    await verb(page, 'stop').click();
    await row(page, 'scout').locator('.mark', {hasText: 'stop: turn'}).waitFor();
    assert.equal(await api.status('scout'), 'waiting_llm');
    await row(page, 'scout').locator('.abort-btn').click();
    await row(page, 'scout').locator('.compute-status.stopped').waitFor();
    await row(page, 'scout').locator('.mark').waitFor({state: 'detached'});
  }},

  {name: 'pause: holds a subtree, and unpause lets it go', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'lead');
    await verb(page, 'pause').click();
    await toastOf(page, 'success', 'Paused lead').waitFor();
    await api.send('lead', 'Wait.\n/say Now.');
    await row(page, 'lead').locator('.mark', {hasText: 'Paused'}).waitFor();
    assert.equal(await api.status('lead'), 'idle');
    await verb(page, 'unpause').click();
    await page.locator('.message.assistant', {hasText: 'Now.'}).waitFor();
  }},

  {name: 'pause: that of an agent is seen at all below it, and so is its end', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    const marks = (id) => row(page, id).locator('.mark', {hasText: 'Paused'});
    await api.verb('scout', 'pause');
    await api.verb('lead', 'pause');
    for (const id of ['lead', 'scout', 'editor']) await marks(id).waitFor();
    await api.verb('lead', 'unpause');
    await marks('editor').waitFor({state: 'detached'});
    await marks('scout').waitFor();
    assert.equal(await marks('other').count(), 0);
  }},

  {name: 'stop all: asks first, and reaches every agent', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await api.send('other', 'go');
    await page.locator('#tree-menu summary').click();
    await page.locator('[data-tree-verb=stop]').click();
    assert.match(await page.locator('#confirm-body').textContent(), /4 agents/);
    await page.locator('#confirm-yes').click();
    for (const id of ['lead', 'scout', 'editor', 'other']) await untilStatus(page, id, 'stopped');
    assert.equal(await api.status('other'), 'stopped');
  }},

  {name: 'receipts: each stop and delete has one, with the times of the gate and of the settling', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await untilStatus(page, 'scout', 'waiting_llm');
    await page.locator('#tab-receipts').click();
    await select(page, 'lead');
    await verb(page, 'stop').click();
    const receipts = page.locator('.receipt');
    await receipts.first().waitFor();
    assert.match(await receipts.first().locator('svg').getAttribute('aria-label'), /Gate closed after [\d,.]+ \S+, settled after [\d,.]+ \S+/);
    await api.remove('other');
    await receipts.nth(1).waitFor();
    await page.reload();
    await page.locator('#tab-receipts').click();
    await receipts.nth(1).waitFor();
    await until(page, () => [...document.querySelectorAll('.receipt .mark')].map((mark) => mark.textContent).join() === 'stop,delete');
  }},
];
