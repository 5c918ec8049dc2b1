// axe-core on a page.

import assert from 'node:assert/strict';
import axe from 'axe-core';

// `rules`: only these; all by default.
export async function noViolations(page, what, rules = null) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const {violations} = await page.evaluate((runOnly) => window.axe.run({resultTypes: ['violations'], ...(runOnly && {runOnly})}), rules);
  const reason = (node) => node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message;
  assert.deepEqual(violations.map(({id, nodes}) => ({what, id, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' | ' + reason(node))})), []);
}
