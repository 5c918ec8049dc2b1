// A second viewer, without a browser: it reads the events of the console, and waits for them.

import {within} from './wait.mjs';

export async function startWitness(url, headers = {}) {
  const leaving = new AbortController();
  const response = await fetch(url + 'api/events', {headers, signal: leaving.signal});
  const witness = {events: [], last: null};
  const waiting = new Set();
  const take = (block) => {
    const fields = Object.fromEntries(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
    if (!fields.data) return;
    witness.last = fields.id ?? witness.last;
    witness.events.push({id: fields.id, ...JSON.parse(fields.data)});
    for (const look of waiting) look();
  };
  (async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const bytes of response.body) {
      text += decoder.decode(bytes, {stream: true});
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  })().catch(() => { /* the server or this viewer has left */ });
  // Waits until `test` is true of all events so far.
  witness.until = (test, what) => within(what, new Promise((done) => {
    const look = () => {
      const result = test(witness.events);
      if (!result) return;
      waiting.delete(look);
      done(result);
    };
    waiting.add(look);
    look();
  }));
  witness.leave = () => leaving.abort();
  return witness;
}
