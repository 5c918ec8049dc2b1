// Accessibility, narrow windows, and motion.

import assert from 'node:assert/strict';
import {noViolations} from '../axe.mjs';
import {stage} from '../stage.mjs';
import {select} from '../page.mjs';

// `rules` as for noViolations.
const axe = (name, {scheme, locale, rules}) => ({name, server: stage.server, scheme, locale, async body({api, open}) {
  const check = (page, what) => noViolations(page, what, rules);
  await stage.play(api);
  const page = await open();
  await check(page, 'nothing selected');
  await select(page, 'router');
  await page.locator('.message').nth(4).waitFor();
  await api.send('router', 'next');
  await page.locator('#queue-box summary').click();
  await page.locator('#queue-list li').waitFor();
  await api.verb('parser', 'resume');
  await api.verb('parser', 'stop', {reason: 'not yet'});
  await page.locator('#timeline .event').nth(3).waitFor();
  for (const summary of await page.locator('#messages details > summary:visible').all()) await summary.click();
  await page.evaluate(() => Promise.all(document.getAnimations().filter((each) => each.effect.getTiming().iterations === 1).map((each) => each.finished)));
  await check(page, 'conversation');
  for (const tab of ['questions', 'receipts', 'tasks', 'usage']) {
    await page.locator('#tab-' + tab).click();
    await check(page, tab);
  }
  await page.locator('#new-agent').click();
  await check(page, 'new agent');
  await page.keyboard.press('Escape');
  await page.locator('[data-verb=remove]').click();
  await check(page, 'confirm');
  await page.keyboard.press('Escape');
  await page.locator('#tree-menu summary').click();
  await check(page, 'menu');
  await page.setViewportSize({width: 360, height: 740});
  for (const pane of ['tree', 'chat', 'activity']) {
    await page.locator('[data-pane-of=' + pane + ']').click();
    await check(page, 'narrow ' + pane);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360), 'the page is wider than the window: ' + pane);
  }
}});

export const checks = [
  axe('axe: no violation in any part of the page', {scheme: 'dark', locale: 'en-US'}),
  axe('axe: every text has enough contrast in the light colours, too', {scheme: 'light', locale: 'zh-CN', rules: ['color-contrast']}),

  {name: 'motion: nothing moves for a person who asked for less of it', locale: 'en-US', async body({server, api, context}) {
    const page = await context.newPage();
    await page.emulateMedia({reducedMotion: 'reduce'});
    await api.send('scout', '/call ask_human {"question":"Which way?"}');
    await page.goto(server.pageUrl);
    await page.locator('.compute-status.processing').waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('.compute-status.processing')).animationName), 'none');
  }},
];
