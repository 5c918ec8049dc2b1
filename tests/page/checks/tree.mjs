// The tree on the left: many agents, and hostile names.

import assert from 'node:assert/strict';
import {caughtUp, until} from '../page.mjs';

const many = Number(process.env.AGENTCORE_PAGE_AGENTS ?? 10000);
const rowsInDocument = (page) => page.evaluate(() => document.querySelectorAll('[role=treeitem]').length);

const forest = () => {
  const name = (i) => 'worker-' + String(i).padStart(5, '0');
  return Array.from({length: many}, (_, i) => (i % 10 ? name(i - i % 10) + '/' + name(i) : name(i)));
};

// At most 255 bytes, as ids are.
const hostile = [
  '<img src=x onerror="window.pwned=1">', '"><script>window.pwned=2</script>', '\u202Eresrever si siht\u202D', '👩‍👩‍👧‍👦🏴‍☠️ emoji',
  '../../etc/passwd', 'a'.repeat(255), 'עברית و عربى', 'Z̸̡̧̛̤̲͖͙̙̜̫̗͉̯͍͎̈̓̋͌̑̀́̕͠ͅalgo', '${window.pwned=4}', '__proto__', '</title><svg onload=window.pwned=5>', '界'.repeat(85),
  'line\nbreak\ttab', '\u200b\u202e',
];

export const checks = [
  {name: 'tree: ' + many + ' agents, and at most 100 rows are in the document', server: {agents: forest()}, locale: 'en-US', viewport: {width: 1280, height: 3000}, async body({server, api, open}) {
    const page = await open();
    assert.equal(await page.evaluate(() => window.agentcoreConsole.agentCount()), many);
    await page.locator('#expand-all').click();
    let most = 0;
    for (let i = 0; i <= 20; i++) {
      await page.locator('#tree').evaluate((tree, part) => {
        tree.scrollTop = tree.scrollHeight * part;
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }, i / 20);
      most = Math.max(most, await rowsInDocument(page));
    }
    assert.ok(most > 50 && most <= 100, String(most));
    await page.locator('#search').fill('worker-0012');
    await page.locator('#tree-count', {hasText: '10 of ' + many}).waitFor();
    assert.ok(await rowsInDocument(page) <= 100);
    await page.locator('#search').fill('');
    await api.send('worker-00471', 'go');
    await page.locator('#state-filter').selectOption('waiting_llm');
    await page.locator('#tree-count', {hasText: '1 of ' + many}).waitFor();
    await page.locator('.row .name', {hasText: 'worker-00471'}).waitFor();
    await page.locator('#state-filter').selectOption('');
    await page.locator('#collapse-all').click();
    await until(page, () => document.querySelector('.row').getAttribute('aria-expanded') === 'false');
    // Every agent changes its state: the page stays usable.
    await api.post('api/tree/stop', {reason: 'all at once'});
    await caughtUp(page, (await server.witness.until((events) => events.findLast((event) => event.type === 'receipt'), 'the receipt of the stop')).id);
    await page.locator('#expand-all').click();
    await page.locator('.compute-status.stopped').nth(20).waitFor();
    await page.locator('#state-filter').selectOption('stopped');
    await page.locator('#tree-count', {hasText: many + ' of ' + many}).waitFor();
    assert.ok(await rowsInDocument(page) <= 100);
    assert.ok(await page.locator('#timeline .event').count() <= 500);
  }},

  {name: 'tree: a name of markup, emoji, right-to-left or odd characters does no harm', tags: '[H16][Y1]', expected: ['Failed to load resource'], async body({api, open}) {
    const accepted = [];
    for (const id of hostile) await api.create(id).then(() => accepted.push(id), () => {});
    assert.ok(accepted.length >= 12, JSON.stringify(accepted));
    const page = await open();
    for (const id of accepted) {
      await api.send(id, id + '\n/call ask_human ' + JSON.stringify({question: id, choices: [id]}));
      await api.untilStatus(id, 'processing');
    }
    await page.locator('#tab-questions').click();
    for (const id of accepted) {
      const key = await page.evaluate(async (wanted) => 'agent-row-' + (await import('/store.js')).store.find(wanted).key, id);
      const line = page.locator('#' + key);
      await line.locator('.name').click({position: {x: 2, y: 6}});
      await until(page, (wanted) => window.agentcoreConsole.selected() === wanted, id);
      await page.locator('.message.assistant .tool-box').waitFor();
      const sizes = await page.evaluate((rowId) => {
        const element = document.getElementById(rowId);
        const wide = (name) => document.getElementById(name).scrollWidth > document.getElementById(name).clientWidth;
        return {height: element.offsetHeight, page: document.documentElement.scrollWidth > innerWidth, tree: wide('tree'), chat: wide('messages'),
          button: element.querySelector('.interrupt-btn').getBoundingClientRect().right <= element.getBoundingClientRect().right};
      }, key);
      assert.deepEqual(sizes, {height: 28, page: false, tree: false, chat: false, button: true}, id.slice(0, 40));
      await api.verb(id, 'interrupt');
      await api.send(id, 'go');
      await line.locator('.abort-btn').click();
      await line.locator('.abort-btn').waitFor({state: 'detached'});
      assert.equal(await api.status(id), 'idle');
    }
    await api.verb(accepted[0], 'stop', {reason: accepted[0]});
    for (const tab of ['questions', 'receipts', 'timeline']) {
      await page.locator('#tab-' + tab).click();
      const outside = await page.evaluate((name) => [...document.querySelectorAll('#panel-' + name + ' *')].filter((each) => each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML.slice(0, 120)), tab);
      assert.deepEqual(outside, []);
    }
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator('main img, main script, main svg[onload]').count(), 0);
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('.row .name')).unicodeBidi), 'isolate');
  }},
];
