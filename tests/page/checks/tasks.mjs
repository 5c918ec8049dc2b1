// Tasks: made, followed, ended.

import assert from 'node:assert/strict';
import {toastOf, until} from '../page.mjs';

export const checks = [
  {name: 'tasks: one is made and terminated from the page, and its stream is closed', tags: '[H15]', locale: 'en-US', server: {proxied: true}, async body({api, open}) {
    const page = await open();
    await page.locator('#tab-tasks').click();
    await page.locator('#task-form [name=prompt]').fill('Summarise the trace.');
    await page.locator('#task-form [name=agentId]').fill('scout');
    const followed = page.waitForRequest((request) => /\/tasks\/[^/]+\/events$/.test(request.url()));
    await page.locator('#task-submit').click();
    const closed = page.waitForEvent('requestfailed', (request) => /\/tasks\/[^/]+\/events$/.test(request.url())).catch(() => null);
    const finished = page.waitForEvent('requestfinished', (request) => /\/tasks\/[^/]+\/events$/.test(request.url())).catch(() => null);
    await followed;
    const task = page.locator('.task').first();
    await task.locator('.mark', {hasText: 'running'}).waitFor();
    const id = await page.evaluate(() => window.agentcoreConsole.followedTask());
    assert.equal((await api.get('tasks/' + id)).agentId, 'scout');
    const asked = page.waitForRequest((request) => request.url().endsWith('/terminate'));
    await task.getByRole('button', {name: 'Terminate'}).click();
    assert.equal((await asked).method(), 'POST');
    await toastOf(page, 'success', 'The task was terminated').waitFor();
    await page.locator('.task .mark', {hasText: 'terminated'}).waitFor();
    assert.equal(await page.evaluate(() => window.agentcoreConsole.followedTask()), null);
    assert.ok(await Promise.race([closed, finished]));
    assert.equal((await api.get('tasks/' + id)).status, 'terminated');
    await api.untilStatus('scout', 'idle');
  }},

  {name: 'tasks: one without an agent gets a new one, and its answer is shown', locale: 'en-US', async body({open}) {
    const page = await open();
    await page.locator('#tab-tasks').click();
    await page.locator('#task-form [name=prompt]').fill('Summarise.\n/say It is <b>short</b>.');
    await page.locator('#task-submit').click();
    await page.locator('.task .mark', {hasText: 'completed'}).waitFor();
    await page.locator('.task .text', {hasText: 'It is <b>short</b>.'}).waitFor();
    await until(page, () => window.agentcoreConsole.agentCount() === 2 && window.agentcoreConsole.followedTask() === null);
  }},
];
