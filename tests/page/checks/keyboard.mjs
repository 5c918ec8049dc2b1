// The page without a pointer.

import assert from 'node:assert/strict';
import {until, untilStatus} from '../page.mjs';

const agents = ['lead', 'lead/parser', 'lead/parse-tests', 'lead/scout', 'other'];
const activeIs = (page, name) => until(page, (wanted) => document.querySelector('.row.active .name')?.textContent === wanted, name);

export const checks = [
  {name: 'keyboard: search, move, open, interrupt and delete without a pointer', server: {agents}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
    await page.keyboard.type('pars');
    await page.locator('#tree-count', {hasText: '2 of 5'}).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#tree-count', {hasText: /^5$/}).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'tree');
    await activeIs(page, 'lead');
    assert.equal(await page.locator('#tree').getAttribute('aria-activedescendant'), await page.locator('.row.active').getAttribute('id'));
    await page.keyboard.press('ArrowLeft');
    await until(page, () => document.querySelector('.row.active').getAttribute('aria-expanded') === 'false');
    await page.keyboard.press('ArrowRight');
    await until(page, () => document.querySelector('.row.active').getAttribute('aria-expanded') === 'true');
    await page.keyboard.press('ArrowRight');
    await activeIs(page, 'parser');
    const facts = await page.locator('.row.active').evaluate((element) => ['level', 'setsize', 'posinset', 'selected'].map((name) => element.getAttribute('aria-' + name)));
    assert.deepEqual(facts, ['2', '3', '1', 'false']);
    await page.keyboard.press('Enter');
    await until(page, () => window.agentcoreConsole.selected() === 'parser');
    await api.send('parser', 'go');
    await page.locator('.row.active .abort-btn').waitFor();
    await until(page, () => document.getElementById('announcer').textContent.includes('Waiting for the model'));
    await page.keyboard.press('Escape');
    await untilStatus(page, 'parser', 'idle');
    await page.keyboard.press('Delete');
    await page.locator('#confirm[open]').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await until(page, () => window.agentcoreConsole.agentCount() === 4);
    await page.locator('#tree').focus();
    await page.keyboard.press('End');
    await activeIs(page, 'other');
    await page.keyboard.press('Home');
    await activeIs(page, 'lead');
    await page.keyboard.press('Enter');
    await page.locator('#agent-name', {hasText: 'lead'}).waitFor();
    // Tab reaches the verbs, and the focus can be seen.
    for (let i = 0; i < 12 && !(await page.evaluate(() => document.activeElement.dataset.verb === 'stop')); i++) await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.verb), 'stop');
    assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'solid');
    await page.keyboard.press('Enter');
    await api.untilStatus('scout', 'stopped');
  }},
];
