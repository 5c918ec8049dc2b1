// One EventSource on /api/events. Only the tab that leads has one. EventSource reconnects by itself, with the id of the last event; this
// class opens a new one when the wished texts change, or when the server refused the connection.

const firstWait = 500;
const longestWait = 8000;

export class Stream {
  // onEvent(id, event), onStatus(connected), onOpen(id it began after)
  constructor({onEvent, onStatus, onOpen}) {
    this.handlers = {onEvent, onStatus, onOpen};
    this.source = null;
    this.last = null;    // the id of the last event that arrived, or where the stream begins
    this.texts = [];
    this.wait = firstWait;
    this.timer = 0;
    this.connected = false;
  }

  open(last, texts) {
    this.close();
    this.last = last;
    this.texts = [...texts];
    const query = new URLSearchParams();
    for (const id of this.texts) query.append('text', id);
    if (last) query.set('lastEventId', last);
    const source = new EventSource('api/events?' + query);
    this.source = source;
    source.onopen = () => {
      if (source !== this.source) return;
      this.wait = firstWait;
      this.report(true);
      this.handlers.onOpen(last);
    };
    source.onmessage = (message) => {
      if (source === this.source) this.take(message);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      this.report(false);
      if (source.readyState === EventSource.CLOSED) this.retry();
    };
  }

  take(message) {
    let event;
    try {
      event = JSON.parse(message.data);
    } catch {
      return;
    }
    if (event === null || typeof event !== 'object') return;
    if (message.lastEventId) this.last = message.lastEventId;
    this.handlers.onEvent(message.lastEventId, event);
  }

  // The server answered with something else than a stream: EventSource has given up.
  retry() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(this.last, this.texts), this.wait);
    this.wait = Math.min(this.wait * 2, longestWait);
  }

  report(connected) {
    this.connected = connected;
    this.handlers.onStatus(connected);
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
