import { type Html, html } from './html.ts';

/** Formats a duration in a suitable unit: `0.4 ms`, `12 s`, `3 h 5 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 0.005) return '0 ms';
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return joined(hours, 'h', minutes % 60, 'min');
  return joined(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const joined = (large: number, unit: string, small: number, smaller: string) =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;

/** Formats the time since `at`, in words that do not change every second. */
export function ago(at: number, now: number): string {
  const passed = Math.max(0, now - at);
  return passed < 10_000 ? 'just now' : `${duration(passed)} ago`;
}

/** Formats a size in binary units: `512 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const value = count / 1024 ** power;
  return `${value >= 10 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Formats a whole number with thousands separators. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Formats a fraction from 0 to 1 as a percentage. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value.toFixed(value >= 0.05 && value < 10 ? 1 : 0)} %`;
}

/** Formats a point in time in UTC. The page's script converts it to the reader's time zone. */
export function moment(at: number, style: 'time' | 'date' = 'time'): Html {
  const iso = new Date(at).toISOString();
  const shown = style === 'time' ? iso.slice(11, 19) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  return html`<time datetime="${iso}" data-show="${style}">${shown} UTC</time>`;
}

/** Returns the first sentence or line of a text, cut to `maxCharacters`. */
export function brief(text: string, maxCharacters = 160): string {
  const trimmed = text.trim();
  // Takes linear time: texts of servers may have megabytes.
  const first = /^[^\n]*?[.!?](?=\s|$)/.exec(trimmed)?.[0] ?? trimmed.split('\n', 1)[0] ?? '';
  return first.length > maxCharacters ? `${first.slice(0, maxCharacters - 1)}…` : first;
}

/** Formats a number with a noun: `1 tool`, `2 tools`. */
export const counted = (number: number, noun: string): string =>
  `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
