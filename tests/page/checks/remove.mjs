// Delete: it asks first, hides at once, and comes back when the server does not do it.

import assert from 'node:assert/strict';
import {hold, row, select, toastOf, until, verb} from '../page.mjs';

const tree = ['lead', 'lead/scout', 'lead/editor', 'other'];
const resource = 'Failed to load resource';
const count = (page) => page.evaluate(() => window.agentcoreConsole.agentCount());

async function removeSelected(page) {
  await verb(page, 'remove').click();
  await page.locator('#confirm-yes').click();
}

export const checks = [
  {name: 'delete: asks with the number of agents, does nothing on Cancel, and deletes the subtree', tags: '[H13]', server: {agents: tree}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await select(page, 'lead');
    await verb(page, 'remove').click();
    const text = await page.locator('#confirm-body').textContent();
    assert.ok(text.includes('lead') && text.includes('3 agents'), text);
    await page.locator('#confirm-no').click();
    assert.equal(await count(page), 4);
    assert.equal((await api.get('api/agents')).total, 4);
    await removeSelected(page);
    await toastOf(page, 'success', 'Deleted lead').waitFor();
    await until(page, () => window.agentcoreConsole.agentCount() === 1);
    assert.deepEqual((await api.get('api/agents')).agents.map((agent) => agent.id), ['other']);
    assert.equal(await page.evaluate(() => window.agentcoreConsole.selected()), null);
  }},

  {name: 'delete: hides the subtree before the server answers, and shows it again with the cause when it refuses', tags: '[H12][H14]', server: {agents: tree}, expected: [resource], async body({api, open}) {
    const page = await open();
    await select(page, 'lead');
    const held = await hold(page, '/lead', 'DELETE');
    await removeSelected(page);
    await held.asked;
    await row(page, 'lead').waitFor({state: 'detached'});
    assert.equal(await row(page, 'scout').count(), 0);
    assert.equal((await api.get('api/agents')).total, 4);
    await held.release({postData: '{"when":"never"}', headers: {'content-type': 'application/json'}});
    await row(page, 'lead').waitFor();
    await row(page, 'scout').waitFor();
    assert.equal(await toastOf(page, 'error').textContent(), 'lead 删除失败: 请求无效');
    assert.equal(await page.evaluate(() => window.agentcoreConsole.selected()), 'lead');
    assert.equal((await api.get('api/agents')).total, 4);
    await removeSelected(page);
    await until(page, () => window.agentcoreConsole.agentCount() === 1);
  }},

  {name: 'delete: taken back when the server is gone', server: {agents: tree}, expected: [resource, 'net::ERR'], async body({server, open}) {
    const page = await open();
    await select(page, 'lead');
    const held = await hold(page, '/lead', 'DELETE');
    await removeSelected(page);
    await held.asked;
    await row(page, 'lead').waitFor({state: 'detached'});
    await server.kill();
    await held.release();
    await row(page, 'scout').waitFor();
    await toastOf(page, 'error', 'lead 删除失败: 无法连接服务器').waitFor();
  }},

  {name: 'delete: an agent that is gone already counts as deleted', server: {agents: tree}, expected: [resource], locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'other');
    const held = await hold(page, '/other', 'DELETE');
    await removeSelected(page);
    await held.asked;
    await api.remove('other');
    await held.release();
    await toastOf(page, 'success', 'Deleted other').waitFor();
    assert.equal(await count(page), 3);
  }},
];
