// How long a condition may take to become true.

export const timeout = 20000;

export function within(what, promise) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error('waited in vain: ' + what)), timeout); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Something that a check holds back until it opens the gate.
export function gate() {
  let open;
  const passed = new Promise((done) => { open = done; });
  return {passed, open};
}
