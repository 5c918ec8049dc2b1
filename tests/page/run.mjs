// Runs the checks of the console's page: node run.mjs [part of a name]
//
// Each check has a server and a browser context of its own. A check fails on a wrong result, on an error in the console of the page that
// it did not announce (`expected`), and on a violation of the content security policy, which is such an error.
// It prints a line for each check, and at the end the totals in the form of ctest.

import assert from 'node:assert/strict';
import {launch} from './browser.mjs';
import {startServer} from './server.mjs';
import {timeout} from './wait.mjs';
import {checks as abort} from './checks/abort.mjs';
import {checks as conversation} from './checks/conversation.mjs';
import {checks as keyboard} from './checks/keyboard.mjs';
import {checks as login} from './checks/login.mjs';
import {checks as looks} from './checks/looks.mjs';
import {checks as questions} from './checks/questions.mjs';
import {checks as remove} from './checks/remove.mjs';
import {checks as stop} from './checks/stop.mjs';
import {checks as streams} from './checks/streams.mjs';
import {checks as tabs} from './checks/tabs.mjs';
import {checks as tasks} from './checks/tasks.mjs';
import {checks as tree} from './checks/tree.mjs';

const wanted = process.argv[2] ?? '';
const atOnce = 2;
// The longest first, because two run at a time.
const all = [tree, looks, streams, tabs, abort, conversation, questions, stop, remove, tasks, keyboard, login].flat();
const chosen = sample(all.filter((check) => check.name.includes(wanted)), Number(process.env.AGENTCORE_PAGE_SAMPLE));

// `count` of them, spread over all; others each day, so that all have their turn. 0: all.
function sample(checks, count) {
  if (!count || count >= checks.length) return checks;
  const today = Math.floor(Date.now() / 86_400_000);
  return Array.from({length: count}, (_, i) => checks[(today + Math.floor(i * checks.length / count)) % checks.length]);
}

// What goes wrong in the pages of a context without being asked for.
function watch(context, expected) {
  const watched = {problems: [], errors: []};
  context.on('page', (page) => {
    page.setDefaultTimeout(timeout);
    page.on('pageerror', (error) => watched.problems.push('exception: ' + error.stack));
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      watched.errors.push(message.text());
      if (!expected.some((part) => message.text().includes(part))) watched.problems.push('console: ' + message.text());
    });
  });
  return watched;
}

async function run(browser, {server: wishes, locale = 'zh-CN', scheme = 'dark', viewport = {width: 1280, height: 800}, expected = [], body}) {
  const server = await startServer(wishes);
  const context = await browser.newContext({locale, colorScheme: scheme, viewport});
  const {problems, errors} = watch(context, expected);
  const open = async () => {
    const page = await context.newPage();
    await page.goto(server.pageUrl);
    await page.waitForFunction(() => window.agentcoreConsole?.connected());
    return page;
  };
  try {
    await body({server, api: server.api, context, open, errors});
    assert.deepEqual(problems, []);
    return null;
  } catch (error) {
    return [error.stack ?? error, ...problems, ...server.console.said.slice(-20)].join('\n');
  } finally {
    await context.close();
    await server.close();
  }
}

const began = Date.now();
const browser = await launch();
let failed = 0;
const waiting = [...chosen];
async function runNext() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const start = Date.now();
    const failure = await run(browser, check).catch((error) => error.stack);
    if (failure) failed++;
    console.log((failure ? 'FAILED  ' : 'ok      ') + check.name + '  (' + (Date.now() - start) + ' ms)' + (failure ? '\n' + failure : ''));
  }
}
await Promise.all(Array.from({length: atOnce}, runNext));
await browser.close();
const passed = chosen.length ? Math.floor(100 * (chosen.length - failed) / chosen.length) : 0;
console.log('page: ' + passed + '% tests passed, ' + failed + ' tests failed out of ' + chosen.length + ', ' + Math.round((Date.now() - began) / 1000) + ' s');
process.exitCode = failed || !chosen.length ? 1 : 0;
