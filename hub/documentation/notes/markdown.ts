import type { Citation } from '../project/project-types.ts';

/**
 * Converts a text of the repository or of a model to plain Markdown, in which nothing becomes a link, a tag, an image,
 * HTML or code that a plugin runs. Code in backticks remains code.
 */
export function plainText(text: string): string {
  return onOneLine(text)
    .split(/(`[^`\n]{1,200}`)/)
    .map((part, at) => (at % 2 === 1 ? code(part.slice(1, -1)) : escaped(part)))
    .join('')
    .trim();
}

/** Replaces whitespace by single spaces, if necessary: most texts have no other. */
const onOneLine = (text: string) =>
  /\s\s|[^\S ]/.test(text) ? text.replaceAll(/\s+/g, ' ') : text;

/** Escapes a text if necessary. Backslashes in words with underscores would be hard to read. */
const escaped = (text: string) => (special.test(text) ? withBackslashes(text) : text);

/** Matches texts that may need escapes. Most texts do not. */
const special = /[\\`*[\]|~^$<#_%=:+>-]|\d[.)]/;

const withBackslashes = (text: string) =>
  text
    .replaceAll(/[\\`*[\]|~^$]/g, '\\$&')
    // Escaping "<" also prevents Templater from finding its commands.
    .replaceAll('<', '&lt;')
    .replaceAll(/#(?=\S)/g, '\\#')
    .replaceAll(/(?<![\p{L}\d])_|_(?![\p{L}\d])/gu, '\\_')
    .replaceAll('%%', '%\\%')
    .replaceAll('==', '=\\=')
    .replace(/^(\s*)([-+>]|\d+[.)])(?=\s)/, '$1\\$2')
    // Insert a zero-width space, because bare URLs become links.
    .replaceAll(/\b([a-z]{2,10}):\/\//gi, '$1:\u200b//');

/** Formats inline code. Neutralizes "=" and "$=" at its start (run by Dataview), and "<%" (run by Templater). */
export function code(text: string): string {
  const plain = onOneLine(text).trim();
  if (plain === '') return '';
  const inside = plain.replace(/^(\$?)=/, '$1\u200b=').replaceAll('<%', '<\u200b%');
  if (!inside.includes('`')) return `\`${inside}\``;
  const longest = Math.max(...[...inside.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${inside} ${fence}`;
}

export const cite = ({ path, line }: Citation): string => code(`${path}:${line}`);

/** Formats an Obsidian link. `shown` may be a folder's name with line breaks, or with code that a plugin would run. */
export const link = (name: string, shown: string): string =>
  `[[${name}|${onOneLine(shown).replaceAll(/[[\]|`<>%]/g, '-')}]]`;

/** Converts a text to an Obsidian tag: lowercase letters, digits, "-", "_" and "/", and not only digits. */
export function tagOf(text: string): string {
  const plain = text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('#', '-sharp')
    .replaceAll('+', 'p')
    .replaceAll(/[^\p{L}\p{N}_/-]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '');
  return /^[\d/]*$/.test(plain) ? `n${plain}` : plain;
}

/** Joins the parts of a note, without empty ones. */
export const joined = (parts: readonly (string | false | undefined)[]): string =>
  parts.filter(Boolean).join('\n\n');

/** Returns a section with a list; empty if there are no items. `about`: text before the list. */
export const section = (heading: string, items: readonly string[], about = ''): string =>
  items.length === 0 ? '' : joined([`## ${heading}`, about, items.join('\n')]);

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
