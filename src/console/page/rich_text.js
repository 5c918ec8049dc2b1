// Text of a message as elements: fenced blocks of code, and code within a line. Everything else stays as it is.

import {h} from './dom.js';

const fence = /^```([^\n`]*)\n([\s\S]*?)(?:\n```[ \t]*$|$(?![\s\S]))/gm;

export function richText(text) {
  const result = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(fence)) {
    addLines(result, text.slice(end, match.index));
    result.append(h('pre', {class: 'code', tabindex: '0'}, h('code', {}, match[2])));
    end = match.index + match[0].length;
  }
  addLines(result, text.slice(end));
  return result;
}

function addLines(result, text) {
  const trimmed = text.replace(/^\n+|\n+$/g, '');
  if (!trimmed) return;
  const paragraph = h('div', {class: 'text'});
  trimmed.split(/`([^`\n]+)`/).forEach((piece, i) => paragraph.append(i % 2 ? h('code', {}, piece) : piece));
  result.append(paragraph);
}
