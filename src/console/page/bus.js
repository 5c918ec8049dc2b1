// Notifications between the modules of the page. Topics:
//   event {type, at, agentId, ...}, n   an accepted event of the server      agents        the shape of the tree has changed
//   agent node                          one agent has changed                select node   another agent (or null) is selected
//   language                            the texts have changed               connection    the stream is connected, or is not
//   loaded                              the whole tree was loaded            login         the server asks for a token

const listeners = new Map();

export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, []);
  listeners.get(topic).push(listener);
}

export function notify(topic, ...values) {
  for (const listener of listeners.get(topic) ?? []) {
    try {
      listener(...values);
    } catch (error) {
      console.error(topic, error);
    }
  }
}
