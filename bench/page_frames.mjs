// The frames of the console's page while its tree of many agents is scrolled, and events arrive.
//
//   node page_frames.mjs AGENTS SECONDS
//
// scripts/bench runs it beside a copy of tests/page, whose server and browser it uses. A conversation that
// streams is open, and twenty messages a second go to one agent after the other, each of which is a turn of
// its own. Meanwhile the tree is scrolled from its first row to its last at a steady rate.
import { launch } from './browser.mjs';
import { startServer } from './server.mjs';

const [agents, seconds] = process.argv.slice(2).map(Number);
const messagePause = 50;  // milliseconds

const report = (detail, value) =>
  console.log(JSON.stringify({ id: 'page_frames', variant: `${agents}, ${detail}`, value, unit: 'ms', peer: '' }));
const quantile = (samples, share) =>
  samples.sort((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(share * samples.length))];

const name = (i) => `worker-${String(i).padStart(5, '0')}`;
const forest = Array.from({ length: agents }, (_, i) => (i % 10 ? `${name(i - (i % 10))}/${name(i)}` : name(i)));

// In the page. Returns the times between frames, and those of the tasks that took longer than 50 ms.
async function scroll(milliseconds) {
  const tree = document.getElementById('tree');
  const frames = [];
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: 'longtask' });
  const applied = window.agentcoreConsole.eventsApplied();
  let mostRows = 0;
  const begin = await new Promise(requestAnimationFrame);
  for (let last = begin; last - begin < milliseconds;) {
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    tree.scrollTop = ((now - begin) / milliseconds) * (tree.scrollHeight - tree.clientHeight);
    mostRows = Math.max(mostRows, document.querySelectorAll('[role=treeitem]').length);
  }
  return { frames, tasks, mostRows, events: window.agentcoreConsole.eventsApplied() - applied };
}

async function measure(page, api) {
  await page.locator('#expand-all').click();
  await page.locator('.row .name').first().click();
  await api.send(name(0), 'go');
  let next = 0;
  const messages = setInterval(() => {
    next = (next + 7) % agents || 1;
    api.send(name(next), '/say done').catch((error) => console.error(error));
  }, messagePause);
  const measured = await page.evaluate(scroll, seconds * 1000);
  clearInterval(messages);
  return measured;
}

const browser = await launch().catch((error) => {
  console.error(error.message);
  process.exit(3);  // not possible here
});
const server = await startServer({ agents: forest });
try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.goto(server.pageUrl);
  await page.waitForFunction((count) => window.agentcoreConsole?.agentCount() === count, agents);
  const { frames, tasks, mostRows, events } = await measure(page, server.api);
  report('frame, median', quantile(frames, 0.5));
  report('frame, p99', quantile(frames, 0.99));
  report('longest task', Math.max(0, ...tasks));
  console.error(`page_frames: ${frames.length} frames, ${events} events, at most ${mostRows} rows in the document`);
} finally {
  await browser.close();
  await server.close();
}
