import type { Citation } from '../project/project-types.ts';

/**
 * A text of the repository or of a model as plain Markdown: nothing in it becomes a link, a tag, an image, HTML or code
 * that a plugin runs. Code in backquotes stays code.
 */
export function plainText(text: string): string {
  return onOneLine(text)
    .split(/(`[^`\n]{1,200}`)/)
    .map((part, at) => (at % 2 === 1 ? code(part.slice(1, -1)) : escaped(part)))
    .join('')
    .trim();
}

/** White space as single spaces. Most texts have no other. */
const onOneLine = (text: string) =>
  /\s\s|[^\S ]/.test(text) ? text.replaceAll(/\s+/g, ' ') : text;

/** Only where a character means something: a word with underscores reads badly with backslashes. */
const escaped = (text: string) => (special.test(text) ? withBackslashes(text) : text);

/** Most texts have none of these. */
const special = /[\\`*[\]|~^$<#_%=:+>-]|\d[.)]/;

const withBackslashes = (text: string) =>
  text
    .replaceAll(/[\\`*[\]|~^$]/g, '\\$&')
    // Also keeps Templater from finding its commands.
    .replaceAll('<', '&lt;')
    .replaceAll(/#(?=\S)/g, '\\#')
    .replaceAll(/(?<![\p{L}\d])_|_(?![\p{L}\d])/gu, '\\_')
    .replaceAll('%%', '%\\%')
    .replaceAll('==', '=\\=')
    .replace(/^(\s*)([-+>]|\d+[.)])(?=\s)/, '$1\\$2')
    // Bare addresses become links.
    .replaceAll(/\b([a-z]{2,10}):\/\//gi, '$1:\u200b//');

/** Inline code. Dataview runs code that begins with "=" or "$=", and Templater what is in "<%". */
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

/** A link of Obsidian. `shown` may be the name of a folder, which can have line breaks and begin code that a plugin runs. */
export const link = (name: string, shown: string): string =>
  `[[${name}|${onOneLine(shown).replaceAll(/[[\]|`<>%]/g, '-')}]]`;

/** A tag of Obsidian: lowercase letters, digits, "-", "_" and "/", not only digits. */
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

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
