// A relay of TCP connections between the browser and the console. It can cut them, and it knows which carry an event stream.

import net from 'node:net';

export async function startProxy(port) {
  const pairs = new Set(); // {client, upstream, isStream}
  const proxy = {streamsOpened: 0};
  const server = net.createServer((client) => {
    const pair = {client, upstream: net.connect(port, '127.0.0.1'), isStream: false};
    pairs.add(pair);
    client.on('data', (bytes) => {
      if (!bytes.subarray(0, 16).equals(Buffer.from('GET /api/events?'))) return;
      pair.isStream = true;
      proxy.streamsOpened++;
    });
    client.pipe(pair.upstream).pipe(client);
    for (const socket of [client, pair.upstream]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        client.destroy();
        pair.upstream.destroy();
      });
    }
  });
  const listen = (at) => new Promise((done) => { server.listen(at, '127.0.0.1', done); });
  await listen(0);
  proxy.port = server.address().port;
  proxy.url = 'http://127.0.0.1:' + proxy.port + '/';
  proxy.streams = () => [...pairs].filter((pair) => pair.isStream).length;
  proxy.cutStreams = () => { for (const pair of pairs) if (pair.isStream) pair.client.destroy(); };
  // The server cannot be reached any more, until up().
  proxy.down = () => new Promise((done) => {
    server.close(done);
    for (const pair of pairs) pair.client.destroy();
  });
  proxy.up = () => listen(proxy.port);
  return proxy;
}
