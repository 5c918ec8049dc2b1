// Takes pictures of the page in a lively state: node shots.mjs. They go into the folder shots beside it.

import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {launch} from './browser.mjs';
import {select, until, untilText, verb} from './page.mjs';
import {startScriptedModel} from './scripted_model.mjs';
import {startServer} from './server.mjs';
import {script, stage} from './stage.mjs';

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), 'shots');
fs.mkdirSync(folder, {recursive: true});
const browser = await launch();

for (const scheme of ['light', 'dark']) {
  const model = await startScriptedModel(script);
  const server = await startServer({...stage.server, baseUrl: model.url});
  const context = await browser.newContext({colorScheme: scheme, locale: 'en-US', viewport: {width: 1280, height: 800}});
  const page = await context.newPage();
  const shot = (name) => page.screenshot({path: path.join(folder, scheme + '-' + name + '.png')});
  await page.goto(server.url);
  await page.waitForFunction(() => window.agentcoreConsole?.connected());
  await stage.play(server.api, {plain: true});
  await select(page, 'router');
  await untilText(page, 260);
  await until(page, () => !document.querySelector('.toast'));
  await shot('timeline');
  for (const tab of ['questions', 'receipts', 'tasks', 'usage']) {
    await page.locator('#tab-' + tab).click();
    await page.locator('#panel-' + tab).waitFor();
    await shot(tab);
  }
  await verb(page, 'remove').click();
  await page.locator('#confirm[open]').waitFor();
  await shot('delete');
  await context.close();
  await server.close();
  model.close();
}
await browser.close();
console.log('page: the pictures are in ' + folder);
