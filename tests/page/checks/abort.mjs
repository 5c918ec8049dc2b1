// The button that ends a model call: when it is there, what it does, and what the page says.

import assert from 'node:assert/strict';
import {answers, hold, liveText, row, select, statusBox, toastOf, until, untilStatus, untilText} from '../page.mjs';

const waiting = '<span class="compute-status waiting" title="等待大模型响应">⏳</span><button class="abort-btn" title="停止调用">⏹</button>';
const processing = '<span class="compute-status processing" title="处理中">⚙️</span>';
const stopped = '<span class="compute-status stopped" title="已停止">⏹️</span>';
const resource = 'Failed to load resource';
const ask = '/call ask_human {"question":"Which way?"}';

const shows = (page, id, html) => until(page, (wanted) => {
  const line = [...document.querySelectorAll('.row')].find((each) => each.querySelector('.name').textContent === wanted.id);
  return line.querySelector('.status').innerHTML === wanted.html;
}, {id, html});

export const checks = [
  {name: 'abort: the button is there exactly in waiting_llm, in each state that an agent goes through', tags: '[A21][H1][H2][H3]', async body({api, open}) {
    const page = await open();
    await shows(page, 'scout', '');
    await api.send('scout', 'What is there?');
    await shows(page, 'scout', waiting);
    await api.verb('scout', 'interrupt');
    await shows(page, 'scout', '');
    await api.send('scout', ask);
    await shows(page, 'scout', processing);
    await api.verb('scout', 'stop');
    await shows(page, 'scout', stopped);
    await api.verb('scout', 'resume');
    await shows(page, 'scout', '');
    await api.verb('scout', 'pause');
    await until(page, () => document.querySelector('.row .marks').textContent !== '');
    assert.equal(await statusBox(page, 'scout').innerHTML(), '');
  }},

  {name: 'abort: no state but waiting_llm has a button, also those that pass too fast to be seen', tags: '[A21][H1][H2][H3][Y2]', async body({open}) {
    const page = await open();
    const shown = await page.evaluate(async () => {
      const {statusElements} = await import('/tree_row.js');
      const states = ['idle', 'waiting_llm', 'processing', 'stopping', 'stopped', 'terminating', 'something_new', ''];
      return Object.fromEntries(states.map((state) => [state, statusElements(state).map((each) => each.outerHTML).join('')]));
    });
    assert.deepEqual(shown, {idle: '', waiting_llm: waiting, processing, stopping: '<span class="compute-status stopping" title="正在停止">⏸️</span>', stopped,
      terminating: '<span class="compute-status terminating" title="正在删除">🗑️</span>', something_new: '', '': ''});
  }},

  {name: 'abort: the button looks as it is fixed, and its text follows the language', tags: '[H8]', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    const button = row(page, 'scout').locator('.abort-btn');
    const style = await button.evaluate((element) => {
      const {backgroundColor, color, borderStyle, borderRadius, padding, marginLeft, cursor, fontSize, lineHeight, transition} = getComputedStyle(element);
      return {backgroundColor, color, borderStyle, borderRadius, padding, marginLeft, cursor, fontSize, lineHeight, transition};
    });
    assert.deepEqual(style, {backgroundColor: 'rgb(255, 68, 68)', color: 'rgb(255, 255, 255)', borderStyle: 'none', borderRadius: '4px', padding: '2px 6px',
      marginLeft: '4px', cursor: 'pointer', fontSize: '12px', lineHeight: '12px', transition: 'background-color 0.2s'});
    await button.hover();
    await until(page, () => getComputedStyle(document.querySelector('.abort-btn')).backgroundColor === 'rgb(204, 0, 0)');
    await page.locator('#language').selectOption('en');
    await until(page, () => document.querySelector('.abort-btn').title === 'Stop this call');
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
    await page.reload();
    assert.equal(await page.locator('#language').inputValue(), 'en');
  }},

  {name: 'abort: in mid-stream the text ends, the button goes, the model is left, and a new message works', tags: '[H6][H9]', async body({server, api, open}) {
    const page = await open();
    await select(page, 'scout');
    await api.send('scout', 'Tell me all.');
    await untilText(page, 40);
    await row(page, 'scout').locator('.abort-btn').click();
    assert.equal(await toastOf(page, 'success').textContent(), '已停止 LLM 调用');
    await row(page, 'scout').locator('.abort-btn').waitFor({state: 'detached'});
    assert.equal(await statusBox(page, 'scout').innerHTML(), '');
    await answers(page).locator('.mark').first().waitFor();
    assert.deepEqual(await answers(page).locator('.mark').allTextContents(), ['部分回答', '已停止调用']);
    assert.equal(await page.locator('#live .message').count(), 0);
    const kept = (await api.messages('scout')).at(-1);
    assert.equal(kept.interruption, 'aborted');
    assert.ok(kept.content.length > 40);
    assert.equal(await answers(page).locator('.body').textContent(), kept.content);
    await api.until('the model is left', () => server.model(), (model) => model.client_closed === 1 && model.open_streams === 0);
    assert.equal((await server.model()).tokens_after_client_gone, 0);
    await page.locator('#composer-text').fill('And now?\n/say All is well.');
    await page.locator('#composer-text').press('Enter');
    await answers(page).nth(1).waitFor();
    assert.equal(await answers(page).nth(1).locator('.body').textContent(), 'All is well.');
    await untilStatus(page, 'scout', 'idle');
    assert.equal((await api.messages('scout')).filter((message) => message.role === 'assistant')[0].content, kept.content);
  }},

  {name: 'abort: a click on the button does not select the row, and keeps the selection', tags: '[H4]', server: {agents: ['scout', 'editor']}, async body({api, open}) {
    const page = await open();
    for (const selected of [null, 'editor']) {
      if (selected) await select(page, selected);
      await api.send('scout', 'go');
      await row(page, 'scout').locator('.abort-btn').click();
      await row(page, 'scout').locator('.abort-btn').waitFor({state: 'detached'});
      assert.equal(await page.evaluate(() => window.agentcoreConsole.selected()), selected);
      assert.equal(await row(page, 'scout').getAttribute('aria-selected'), 'false');
    }
  }},

  {name: 'abort: it names the agent, whatever characters its id has', tags: '[H5]', async body({api, open}) {
    const id = 'a/b %2F?#"c';
    await api.create(id);
    await api.send(id, 'go');
    await api.send('scout', 'go');
    const page = await open();
    const asked = page.waitForRequest((request) => request.url().endsWith('/abort'));
    await row(page, id).locator('.abort-btn').click();
    assert.equal(new URL((await asked).url()).pathname, '/api/agent/' + encodeURIComponent(id) + '/abort');
    await api.untilStatus(id, 'idle');
    assert.equal(await api.status('scout'), 'waiting_llm');
  }},

  {name: 'abort: when the call has just ended, the page says that nothing was in progress', tags: '[H6]', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    const held = await hold(page, '/abort');
    await row(page, 'scout').locator('.abort-btn').click();
    await held.asked;
    await api.verb('scout', 'abort');
    await held.release();
    assert.equal(await toastOf(page, 'info').textContent(), '当前没有进行中的 LLM 调用');
  }},

  {name: 'abort: a refusal of the server is shown with its cause', tags: '[H6]', expected: [resource], async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    const held = await hold(page, '/abort');
    await row(page, 'scout').locator('.abort-btn').click();
    await held.asked;
    await api.remove('scout');
    await held.release();
    assert.equal(await toastOf(page, 'error').textContent(), '停止调用失败: 没有此编号的智能体');
  }},

  {name: 'abort: when the server is gone, a toast and an error in the console of the browser say so', tags: '[H7]', expected: [resource, 'net::ERR', '中断 LLM 调用失败:'],
    async body({server, api, open, errors}) {
      const page = await open();
      await api.send('scout', 'go');
      const held = await hold(page, '/abort');
      await row(page, 'scout').locator('.abort-btn').click();
      await held.asked;
      await server.kill();
      await held.release();
      const toast = toastOf(page, 'error', '停止调用失败: ');
      await toast.waitFor();
      assert.equal(await toast.textContent(), '停止调用失败: 无法连接服务器');
      assert.ok(errors.some((line) => line.startsWith('中断 LLM 调用失败:')), errors.join('\n'));
    }},

  {name: 'abort: the status follows the answer when the event stream is down', tags: '[H9]', server: {proxied: true}, expected: [resource, 'net::ERR'], async body({server, api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await row(page, 'scout').locator('.abort-btn').waitFor();
    await page.route('**/api/events?*', (route) => route.abort());
    server.proxy.cutStreams();
    await page.locator('#banner').waitFor();
    await row(page, 'scout').locator('.abort-btn').click();
    await row(page, 'scout').locator('.abort-btn').waitFor({state: 'detached'});
    assert.equal(await liveText(page), '');
  }},

  {name: 'abort: a toast goes after three seconds', async body({api, open}) {
    const page = await open();
    await api.send('scout', 'go');
    await row(page, 'scout').locator('.abort-btn').click();
    const toast = toastOf(page, 'success');
    await toast.waitFor();
    const shownAt = Date.now();
    await toast.waitFor({state: 'detached'});
    const lasted = Date.now() - shownAt;
    assert.ok(lasted > 2300 && lasted < 6000, 'the toast lasted ' + lasted + ' ms');
  }},
];
