// The icons of the controls: 16 x 16, one path each, drawn with the colour of the text.

const paths = {
  interrupt: 'M5.5 2.5h5l3 3v5l-3 3h-5l-3-3v-5zM8 5v3.6M8 10.9v.1',
  stop: 'M4 4h8v8H4z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.5 8z',
  trash: 'M3 4.5h10M6.3 4.5v-2h3.4v2M4.3 4.5l.6 9h6.2l.6-9M6.8 7v4M9.2 7v4',
  plus: 'M8 3v10M3 8h10',
  send: 'M2.5 8h10M8.5 4l4 4-4 4',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5',
  expand: 'M4 6l4 4 4-4M4 2.5l4 4 4-4',
  collapse: 'M4 6.5l4-4 4 4M4 11l4-4 4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  queue: 'M3 4.5h10M3 8h10M3 11.5h6',
};

export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('class', 'icon icon-' + name);
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('focusable', 'false');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}
