// A console with agents, and the stand-in model server behind it: the programs of a build, each on a free port.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {Api} from './api.mjs';
import {start} from './processes.mjs';
import {startProxy} from './proxy.mjs';
import {startWitness} from './witness.mjs';

const program = (name) => path.join(process.env.AGENTCORE_BUILD ?? 'build/release', 'apps', name);

// Answers without an end, until a verb ends them; `/say TEXT` in a message ends at once.
const endless = {tokens: 0, rate: 60, firstTokenMs: 10};

export async function startServer({agents = ['scout'], model = {}, token = null, keep = false, proxied = false, baseUrl = null, options = []} = {}) {
  const {tokens, rate, firstTokenMs} = {...endless, ...model};
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agentcore-page-'));
  const file = (name) => path.join(folder, name);
  const standin = await start(program('agentcore-standin'),
    ['--tokens', tokens, '--rate', rate, '--first-token-ms', firstTokenMs].map(String), /listening on (\S+)/);
  fs.writeFileSync(file('config'), 'agent=' + JSON.stringify(agents) + '\n');
  const args = ['--base-url', baseUrl ?? standin.match[1], '--model', 'standin', '--config', file('config'), '--keep-partial-answers', '--host-name', '127.0.0.1', ...options];
  if (keep) args.push('--store', file('agents.db'), '--receipts', file('receipts'));
  if (token) {
    fs.writeFileSync(file('token'), token + '\n');
    args.push('--token-file', file('token'));
  }
  const server = {};
  const open = async (port) => {
    server.console = await start(program('agentcore-console'), [...args, '--port', String(port)], /the console is at (\S+)/);
    server.url = server.console.match[1];
    server.port = new URL(server.url).port;
    server.api = new Api(server.url, token);
    server.witness = await startWitness(server.url, server.api.headers);
  };
  await open(0);
  server.proxy = proxied ? await startProxy(server.port) : null;
  server.pageUrl = server.proxy?.url ?? server.url;
  server.kill = () => server.console.end('SIGKILL');
  server.startAgain = () => open(server.port);
  server.model = async () => (await fetch(standin.match[1].replace(/v1$/, 'standin/stats'))).json();
  server.close = async () => {
    server.witness.leave();
    await server.proxy?.down();
    await Promise.all([server.console.end(), standin.end()]);
    fs.rmSync(folder, {recursive: true});
  };
  return server;
}
