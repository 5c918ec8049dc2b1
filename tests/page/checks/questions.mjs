// Tools that run, questions to a person, and approvals.

import assert from 'node:assert/strict';
import {answers, row, select, toastOf, until, untilStatus} from '../page.mjs';

const askFor = (question, choices) => '/call ask_human ' + JSON.stringify(choices ? {question, choices} : {question});
const resource = 'Failed to load resource';

const card = (page, text) => page.locator('.question', {hasText: text});
const outcome = async (api, id) => (await api.messages(id)).findLast((message) => message.role === 'tool').content;

export const checks = [
  {name: 'questions: a question is answered, and the agent goes on with the answer', locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await page.locator('#composer-text').fill(askFor('Which of the two?') + '\n/then\n/say I take the second.');
    await page.locator('#composer-text').press('Enter');
    await untilStatus(page, 'scout', 'processing');
    await until(page, () => document.title === '(1) agentcore console');
    await page.locator('#tab-questions').click();
    await card(page, 'Which of the two?').locator('[name=text]').fill('the <b>second</b>');
    await page.keyboard.press('Enter');
    await toastOf(page, 'success', 'Answered').waitFor();
    await answers(page).last().filter({hasText: 'I take the second.'}).waitFor();
    assert.match(await outcome(api, 'scout'), /the <b>second<\/b>/);
    await page.locator('.question').waitFor({state: 'detached'});
  }},

  {name: 'questions: a choice answers, and a question can be declined', locale: 'en-US', async body({api, open}) {
    const page = await open();
    await page.locator('#tab-questions').click();
    await api.send('scout', askFor('Left or right?', ['left', 'right']) + '\n/then\n/say Left it is.');
    await card(page, 'Left or right?').locator('[data-choice=left]').click();
    await api.untilStatus('scout', 'idle');
    assert.match(await outcome(api, 'scout'), /left/);
    await api.send('scout', askFor('And now?') + '\n/then\n/say As you like.');
    await card(page, 'And now?').locator('[data-decline]').click();
    await toastOf(page, 'success', 'Declined').waitFor();
    await page.locator('.question').waitFor({state: 'detached'});
    await api.untilStatus('scout', 'idle');
  }},

  {name: 'calls: one that a stop has ended is shown as interrupted, also after a reload', tags: '[G9]', server: {agents: ['scout']}, locale: 'en-US', async body({api, open}) {
    const page = await open();
    await api.send('scout', askFor('Left or right?'));
    await select(page, 'scout');
    const state = (name) => page.locator('.tool-box', {hasText: 'ask_human'}).locator('.tool-state.' + name);
    await state('running').waitFor();
    await api.verb('scout', 'stop');
    await state('interrupted').waitFor();
    await page.reload();
    await select(page, 'scout');
    await state('interrupted').waitFor();
    assert.equal(await state('completed').count() + await state('running').count(), 0);
  }},

  {name: 'questions: an approval for the subtree is accepted, and a child is not asked again', server: {agents: ['scout', 'scout/helper'], options: ['--approve', 'ask_human']},
    locale: 'en-US', async body({server, api, open}) {
      const page = await open();
      await page.locator('#tab-questions').click();
      await api.send('scout', askFor('May I?') + '\n/then\n/say Thank you.');
      const approval = page.locator('.question', {has: page.locator('[data-action=approve]')});
      await approval.waitFor();
      await select(page, 'scout');
      const call = page.locator('.tool-box', {hasText: 'ask_human'});
      await call.waitFor();
      assert.equal(await call.locator('.tool-state.completed').count(), 0);
      assert.doesNotMatch(await call.textContent(), /not started/);
      assert.equal(await approval.locator('.mark.attention').textContent(), 'Approval');
      assert.deepEqual(await approval.locator('[name=scope] option').evaluateAll((options) => options.map((option) => option.value)), ['once', 'agent', 'subtree']);
      await approval.locator('[name=scope]').selectOption('subtree');
      const sent = page.waitForRequest((request) => request.url().endsWith('/approve'));
      await approval.locator('button[type=submit]').click();
      assert.deepEqual((await sent).postDataJSON(), {scope: 'subtree'});
      await toastOf(page, 'success', 'Approved').waitFor();
      await page.locator('[data-action=answer] [name=text]').fill('You may.');
      await page.keyboard.press('Enter');
      await api.untilStatus('scout', 'idle');
      await api.send('helper', askFor('May I?') + '\n/then\n/say Thank you.');
      await page.locator('[data-action=answer]').waitFor();
      assert.deepEqual(server.witness.events.filter((event) => event.type === 'question').map((event) => event.question.kind), ['approval', 'question', 'question']);
    }},

  {name: 'questions: an approval that is declined does not run the tool', server: {options: ['--approve', '*']}, locale: 'en-US', async body({server, api, open}) {
    const page = await open();
    await page.locator('#tab-questions').click();
    await api.send('scout', askFor('May I?') + '\n/then\n/say A pity.');
    await page.locator('.question [data-decline]').click();
    await toastOf(page, 'success', 'Declined').waitFor();
    await api.untilStatus('scout', 'idle');
    assert.ok(server.witness.events.every((event) => event.type !== 'question' || event.question.kind === 'approval'));
  }},

  {name: 'questions: a question that another person has answered is taken away, with the cause', expected: [resource], locale: 'en-US', async body({api, open, context}) {
    const page = await open();
    await page.locator('#tab-questions').click();
    await api.send('scout', askFor('Who is first?') + '\n/then\n/say Done.');
    await card(page, 'Who is first?').waitFor();
    await context.route('**/answer', async (route) => {
      const id = new URL(route.request().url()).pathname.split('/')[3];
      await api.post('api/questions/' + id + '/answer', {text: 'I am'});
      await route.continue();
    });
    await card(page, 'Who is first?').locator('[name=text]').fill('me');
    await page.keyboard.press('Enter');
    await toastOf(page, 'error', 'question').waitFor();
    await page.locator('.question').waitFor({state: 'detached'});
    assert.match(await outcome(api, 'scout'), /I am/);
  }},

  {name: 'tools: interrupt while a tool runs ends the turn, and talking goes on', async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await page.locator('#composer-text').fill(askFor('Which way?'));
    await page.locator('#composer-text').press('Enter');
    await untilStatus(page, 'scout', 'processing');
    assert.equal(await row(page, 'scout').locator('.abort-btn').count(), 0);
    const button = row(page, 'scout').locator('.interrupt-btn');
    assert.equal(await button.getAttribute('title'), '中断');
    await button.click();
    await toastOf(page, 'success', '已中断当前轮次').waitFor();
    await button.waitFor({state: 'detached'});
    await untilStatus(page, 'scout', 'idle');
    await until(page, () => document.title === 'agentcore console');
    await page.locator('#composer-text').fill('Go on.\n/say We go on.');
    await page.locator('#composer-text').press('Enter');
    await answers(page).last().filter({hasText: 'We go on.'}).waitFor();
    await untilStatus(page, 'scout', 'idle');
    const roles = (await api.messages('scout')).map((message) => message.role);
    assert.deepEqual(roles.slice(-2), ['user', 'assistant']);
  }},

  {name: 'tools: one call is cancelled, and the turn goes on', locale: 'en-US', async body({api, open}) {
    const page = await open();
    await select(page, 'scout');
    await api.send('scout', askFor('Which way?') + '\n/then\n/say Without an answer, then.');
    await page.locator('.cancel-call').click();
    await toastOf(page, 'success', 'The call was cancelled').waitFor();
    await answers(page).last().filter({hasText: 'Without an answer, then.'}).waitFor();
    await page.locator('.cancel-call').waitFor({state: 'detached'});
    await untilStatus(page, 'scout', 'idle');
  }},
];
