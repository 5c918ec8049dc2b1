// What the checks do with the page, and what they read from it.

export const until = (page, test, value) => page.waitForFunction(test, value);

const exactly = (text) => new RegExp('^' + text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&') + '$');

export const row = (page, id) => page.locator('.row', {has: page.locator('.name', {hasText: exactly(id)})});
export const statusBox = (page, id) => row(page, id).locator('.status');
export const toastOf = (page, kind, hasText) => page.locator('.toast.' + kind, {hasText}).first();
export const verb = (page, name) => page.locator('[data-verb=' + name + ']');
export const answers = (page) => page.locator('.message.assistant[data-index]');

export const untilStatus = (page, id, status) => until(page, (wanted) => window.agentcoreConsole.statusOf(wanted.id) === wanted.status, {id, status});

export async function select(page, id) {
  await row(page, id).locator('.name').click();
  await until(page, (wanted) => window.agentcoreConsole.selected() === wanted, id);
}

export const liveText = (page) => page.evaluate(() => document.querySelector('#live .message > .text')?.textContent ?? '');
// Waits until the answer that streams has more than `length` characters.
export const untilText = (page, length) => until(page, (least) => (document.querySelector('#live .message > .text')?.textContent.length ?? 0) > least, length);

// Holds back the request whose path ends with `ending`: `asked` resolves when it was made, `release` lets it go on, changed by `how`.
export async function hold(page, ending, method = 'POST') {
  const held = {};
  held.asked = new Promise((done) => { held.onAsked = done; });
  const passing = new Promise((done) => { held.pass = done; });
  const matches = (url) => url.pathname.endsWith(ending);
  await page.route(matches, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    held.onAsked();
    const how = await passing;
    await route.continue(how);
    return held.onPassed();
  });
  held.release = async (how) => {
    const passed = new Promise((done) => { held.onPassed = done; });
    held.pass(how);
    await passed;
    await page.unroute(matches);
  };
  return held;
}

export const applied = (page) => page.evaluate(() => window.agentcoreConsole.eventsApplied());
// Waits until the page has applied the event `id` of the server.
export const caughtUp = (page, id) => until(page, (wanted) => {
  const [epoch, number] = (window.agentcoreConsole.lastEventId() ?? '').split('-');
  const [wantedEpoch, wantedNumber] = wanted.split('-');
  return epoch === wantedEpoch && Number(number) >= Number(wantedNumber);
}, id);
