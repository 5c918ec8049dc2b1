// The login with a token.

import assert from 'node:assert/strict';
import {noViolations} from '../axe.mjs';
import {until} from '../page.mjs';

const token = 'a-secret-of-7-words';

export const checks = [
  {name: 'login: a wrong token is refused, the right one opens the page, and logout closes it; no URL has the token', server: {token}, locale: 'en-US', expected: ['Failed to load resource'],
    async body({server, context}) {
      const page = await context.newPage();
      const urls = [];
      page.on('request', (request) => urls.push(request.url()));
      await page.goto(server.url);
      const field = page.locator('#login-form [name=token]');
      await field.waitFor();
      assert.equal(await field.getAttribute('type'), 'password');
      await noViolations(page, 'login');
      await field.fill('wrong');
      await page.keyboard.press('Enter');
      await page.locator('#login-error', {hasText: 'not accepted'}).waitFor();
      await field.fill(token);
      await page.keyboard.press('Enter');
      await until(page, () => window.agentcoreConsole?.connected());
      assert.ok(urls.every((url) => !url.includes(token)));
      const [cookie] = await context.cookies();
      assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.value.includes(token)], [true, 'Strict', false]);
      assert.equal(await page.evaluate(() => document.cookie), '');
      await page.locator('#logout').click();
      await page.locator('#login-form').waitFor();
      await until(page, () => document.getElementById('app').hidden);
    }},

  {name: 'login: when the session has ended the page asks for the token again', server: {token}, locale: 'en-US', expected: ['Failed to load resource'], async body({server, context}) {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.locator('#login-form [name=token]').fill(token);
    await page.keyboard.press('Enter');
    await until(page, () => window.agentcoreConsole?.connected());
    await page.locator('.row .name').waitFor();
    await context.clearCookies();
    await page.locator('.row .name').click();
    await page.locator('#login-form').waitFor();
  }},
];
