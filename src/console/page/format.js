// Numbers, times and durations as text.

import {language} from './i18n.js';

const formats = new Map();

function numberFormat(options) {
  const key = language() + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(language(), options));
  return formats.get(key);
}

export const whole = (value) => numberFormat({maximumFractionDigits: 0}).format(value ?? 0);

export const short = (value) => numberFormat({notation: 'compact', maximumFractionDigits: 1}).format(value ?? 0);

// A cost has no currency in the contract.
export const cost = (value) => (value === null || value === undefined ? '–' : value.toFixed(value < 1 ? 4 : 2));

export function clock(ms) {
  const date = new Date(ms);
  const two = (value) => String(value).padStart(2, '0');
  return two(date.getHours()) + ':' + two(date.getMinutes()) + ':' + two(date.getSeconds());
}

export const microseconds = (value) => (value === null || value === undefined ? '–' : whole(value) + ' µs');
