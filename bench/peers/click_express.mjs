// What Node offers for a host with an HTTP API: Express, and fetch with an AbortController for each agent.
//
//   node click_express.mjs MODULES PORT STREAMS
//
// A host of bench/click_bench.cpp, which describes what it serves. MODULES is the folder in which Express is
// installed.
import { createRequire } from 'node:module';

const [modules, port, streams] = process.argv.slice(2);
const express = createRequire(modules + '/')('express');
const url = `http://127.0.0.1:${port}/chat/completions`;
const agents = new Map();  // id -> {controller, chunks}

async function stream(agent, text) {
  const controller = (agent.controller = new AbortController());
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: text }] });
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal: controller.signal });
    for await (const bytes of response.body) {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = piece.indexOf('\n\n'); at >= 0; at = piece.indexOf('\n\n', at + 2)) ++agent.chunks;
    }
  } catch (error) {
    if (error.name !== 'AbortError') console.error(error);
  }
}

const app = express();
app.disable('etag');
app.disable('x-powered-by');

app.param('id', (request, response, next, id) => {
  request.agent = agents.get(id);
  if (request.agent) next();
  else response.status(404).json({ error: 'agent_not_found' });
});

app.post('/api/agent/:id/abort', (request, response) => {
  request.agent.controller.abort();
  response.json({ ok: true, agentId: request.params.id, aborted: true });
});

app.post('/api/agent/:id/send', express.json(), (request, response) => {
  stream(request.agent, request.body.text);
  response.json({ ok: true, agentId: request.params.id });
});

for (let i = 0; i < Number(streams); ++i) {
  const agent = { controller: null, chunks: 0 };
  agents.set(`agent-${i}`, agent);
  stream(agent, `stream ${i}`);
}
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
