// axe-core on a page.

import assert from 'node:assert/strict';
import {AxeBuilder} from '@axe-core/playwright';

export async function noViolations(page, what) {
  // The page has no frames: without the legacy mode, each run opens a page of its own.
  const {violations} = await new AxeBuilder({page}).setLegacyMode(true).analyze();
  const reason = (node) => node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message;
  assert.deepEqual(violations.map(({id, nodes}) => ({what, id, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' | ' + reason(node))})), []);
}
