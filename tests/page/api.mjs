// Requests to the console, as a program makes them.

import {within} from './wait.mjs';

export class Api {
  constructor(url, token) {
    this.url = url;
    this.headers = token ? {Authorization: 'Bearer ' + token} : {};
  }

  async request(method, path, body) {
    const headers = {...this.headers, 'Content-Type': 'application/json'};
    const response = await fetch(this.url + path, {method, headers, body: body === undefined ? undefined : JSON.stringify(body)});
    const answer = await response.json();
    if (!response.ok) throw new Error(method + ' ' + path + ': ' + response.status + ' ' + JSON.stringify(answer));
    return answer;
  }

  get(path) { return this.request('GET', path); }
  post(path, body = {}) { return this.request('POST', path, body); }
  of(id, rest = '') { return 'api/agent/' + encodeURIComponent(id) + rest; }
  send(id, text) { return this.post(this.of(id, '/send'), {text}); }
  verb(id, verb, body) { return this.post(this.of(id, '/' + verb), body); }
  remove(id) { return this.request('DELETE', this.of(id)); }
  create(id, parentId) { return this.post('api/agents', parentId === undefined ? {id} : {id, parentId}); }
  async status(id) { return (await this.get(this.of(id))).agent.computeStatus; }
  async messages(id) { return (await this.get(this.of(id, '/conversation?limit=200'))).messages; }
  async lastEventId() { return (await this.get('api/agents?limit=1')).lastEventId; }

  // Asks again and again until `test` is true of the answer.
  until(what, ask, test) {
    let given = false;
    const loop = async () => {
      while (!given) {
        const answer = await ask();
        if (test(answer)) return answer;
        await new Promise((done) => setImmediate(done)); // other things happen, also if `ask` waits for nothing
      }
      return undefined;
    };
    return within(what, loop()).finally(() => { given = true; });
  }

  untilStatus(id, status) { return this.until(id + ' is ' + status, () => this.status(id), (now) => now === status); }
}
