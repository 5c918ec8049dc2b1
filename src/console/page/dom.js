// Elements from script. Text goes through text nodes and attributes only: there is no way here to splice a string into markup.

// Makes an element: h('button', {class: 'x', title: 'y', disabled: true, dataset: {do: 'z'}}, 'text', child).
// A property that is null, undefined or false is left out; true is an empty attribute.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'dataset') Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, String(value));
  }
}

// An id of an agent, as text that cannot change the direction or the length of what surrounds it.
export function nameElement(id, limit = 120) {
  return h('bdi', {class: 'id', title: cut(id, 300)}, cut(id, limit));
}

// Cuts between code points, shows control characters as spaces, and puts quotation marks around what would be invisible.
export function cut(text, limit) {
  const clean = text.slice(0, limit * 2 + 2).replace(/[\u0000-\u001f\u007f]/g, ' ');
  if (text && /^[\s\p{Cf}]*$/u.test(clean)) return '“' + clean + '”';
  const points = Array.from(clean);
  const short = points.length > limit || clean.length < text.length;
  return short ? points.slice(0, limit).join('') + '…' : clean;
}

// Runs `action` once before the next picture, however often it is asked for.
export function onNextFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; action(); });
  };
}

// Runs `action` when it was not asked for during `ms` milliseconds.
export function afterQuiet(ms, action) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), ms);
  };
}

// Runs `action` at most once in `ms` milliseconds; the last request is never lost.
export function atMostEvery(ms, action) {
  let timer = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; action(); }, ms);
  };
}
