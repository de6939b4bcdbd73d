import { TomlError, parse, stringify } from 'smol-toml';
import { type JsonText, lineBreakOf, nextLine } from '#config';
import { HubError, type Json, isObject } from '#core';

/**
 * Parses a TOML text without a byte order mark. Throws HUB_CONFIG_INVALID with file, line and column. `with` writes a
 * value as a table, in place of the earlier table or at the end.
 */
export function readTomlText({ file, text }: Record<'file' | 'text', string>): JsonText {
  const value = parsed(file, text);
  return {
    value,
    with(path, wanted) {
      const isInTheWay = ({ kind, key }: Statement) =>
        wanted !== undefined && kind === 'pair' && isEmptyOnWay(value, key, path);
      const own = ownParts(text, path, isInTheWay);
      const block = wanted === undefined ? '' : blockOf(path, wanted, text);
      // An existing table is replaced in place; any other form is removed and a table appended.
      const place = block === '' ? undefined : own.find(({ isTable }) => isTable);
      const kept = own.reduceRight(
        (rest, part) => (part === place ? splice(rest, part, block) : withoutPart(rest, part)),
        text,
      );
      return place || block === '' ? kept : append(kept, block);
    },
  };
}

function parsed(file: string, text: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Show only the first line, with the reason. The other lines quote the file, which may contain secrets.
    const [what = ''] = error.message.split('\n');
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${file}:${error.line}:${error.column}: not valid TOML: ${what.replace(/^Invalid TOML document: /, '')}`,
      { cause: new Error(what) },
    );
  }
}

type TomlPart = { readonly start: number; readonly end: number; readonly isTable: boolean };

/** True if the value of a key is `{}`, an inline table, below which TOML 1.0 allows no further table. */
function isEmptyOnWay(document: unknown, key: readonly string[], path: readonly string[]): boolean {
  if (key.length >= path.length || key.some((word, depth) => path[depth] !== word)) return false;
  const value = key.reduce<unknown>((at, word) => (isObject(at) ? at[word] : undefined), document);
  return isObject(value) && Object.keys(value).length === 0;
}

/**
 * Returns the parts of the text that define the value at the path, and statements that would conflict with it. A table
 * and its pairs are one part.
 */
function ownParts(
  text: string,
  path: readonly string[],
  isInTheWay: (statement: Statement) => boolean,
): readonly TomlPart[] {
  const statements = statementsOf(text);
  const isOwn = (statement: Statement | undefined) =>
    statement !== undefined &&
    (path.every((word, depth) => statement.key[depth] === word) || isInTheWay(statement));
  const parts: TomlPart[] = [];
  let lastTable = -1;
  for (const statement of statements.filter(isOwn)) {
    const { start, end, kind, table } = statement;
    const last = parts.at(-1);
    const continuesTable = isOwn(statements[table]) && table === lastTable;
    if (last && (continuesTable || text.slice(last.end, start).trim() === ''))
      parts.splice(-1, 1, { ...last, end });
    else parts.push({ start, end, isTable: kind !== 'pair' });
    lastTable = table;
  }
  return parts;
}

function blockOf(path: readonly string[], value: Json, text: string): string {
  const nested = path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
  return `${stringify(nested).trim()}\n`.replaceAll('\n', lineBreakOf(text));
}

function append(text: string, block: string): string {
  if (text.trim() === '') return text + block;
  const lineBreak = lineBreakOf(text);
  return `${text}${text.endsWith('\n') ? '' : lineBreak}${lineBreak}${block}`;
}

const splice = (text: string, { start, end }: TomlPart, replacement: string) =>
  text.slice(0, start) + replacement + text.slice(end);

/** Removes a part, and the blank line before it if it was the last one in its block. */
function withoutPart(text: string, part: TomlPart): string {
  const lineBreak = lineBreakOf(text);
  const isDoubled = text.slice(0, part.start).endsWith(lineBreak + lineBreak);
  const after = text.slice(part.end);
  const isLast = after === '' || after.startsWith(lineBreak);
  const start = isDoubled && isLast ? part.start - lineBreak.length : part.start;
  return splice(text, { ...part, start }, '');
}

/** A statement of a TOML text, in whole lines. Offsets are in characters; `end` is after the last line. */
type Statement = {
  readonly start: number;
  readonly end: number;
  readonly kind: 'table' | 'list' | 'pair';
  /** Full key, including that of the table. */
  readonly key: readonly string[];
  /** Index of the statement that opens the pair's table; -1 before the first table. */
  readonly table: number;
};

const part = /[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;
const space = /[ \t]*/y;
const dot = /[ \t]*\.[ \t]*/y;
/** Strings of the four kinds, and comments, within which a line break does not end a value. */
const opaque =
  /"""(?:\\[^]|[^\\])*?"""(?:"{0,2})|'''[^]*?'''(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*/y;

/** Splits a valid TOML text into statements. */
function statementsOf(text: string): readonly Statement[] {
  const found: Statement[] = [];
  let table = -1;
  let tableKey: readonly string[] = [];
  for (let at = 0; at < text.length;) {
    const start = at + matched(space, text, at).length;
    if (/[#\r\n]/.test(text[start] ?? '\n')) {
      at = nextLine(text, start);
      continue;
    }
    const brackets = /^\[{0,2}/.exec(text.slice(start, start + 2))?.[0].length ?? 0;
    const { key, end: keyEnd } = readKey(text, start + brackets);
    const end =
      brackets > 0 ? nextLine(text, keyEnd) : valueEnd(text, text.indexOf('=', keyEnd) + 1);
    // Stop if no progress is made. The caller verifies the edited text.
    if (end <= at) break;
    if (brackets > 0) {
      table = found.length;
      tableKey = key;
      found.push({ start: at, end, kind: brackets === 1 ? 'table' : 'list', key, table });
    } else found.push({ start: at, end, kind: 'pair', key: [...tableKey, ...key], table });
    at = end;
  }
  return found;
}

function readKey(text: string, from: number) {
  const key: string[] = [];
  let at = from + matched(space, text, from).length;
  for (;;) {
    const written = matched(part, text, at);
    // Parse a quoted key with the TOML parser, which knows the escapes.
    key.push(...(/^["']/.test(written) ? Object.keys(parse(`${written} = 0`)) : [written]));
    at += written.length;
    const between = matched(dot, text, at);
    if (between === '') return { key, end: at };
    at += between.length;
  }
}

function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length;) {
    const skipped = matched(opaque, text, at);
    if (skipped !== '') {
      at += skipped.length;
      continue;
    }
    const sign = text[at];
    if (sign === '[' || sign === '{') depth++;
    if (sign === ']' || sign === '}') depth--;
    at++;
    if (sign === '\n' && depth === 0) return at;
  }
  return text.length;
}

function matched(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}
