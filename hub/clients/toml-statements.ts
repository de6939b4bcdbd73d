import { parse } from 'smol-toml';

/** A statement of a TOML text, in whole lines. Offsets are in characters; `end` is after the last line. */
export type Statement = {
  readonly start: number;
  readonly end: number;
  readonly kind: 'table' | 'list' | 'pair';
  /** The full key, including that of the table. */
  readonly key: readonly string[];
  /** Index of the statement that opens the pair's table; -1 before the first table. */
  readonly table: number;
};

const part = /[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;
const space = /[ \t]*/y;
const dot = /[ \t]*\.[ \t]*/y;
/** Parts of a value in which a line break does not end it: strings of the four kinds, and comments. */
const opaque =
  /"""(?:\\[^]|[^\\])*?"""(?:"{0,2})|'''[^]*?'''(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*/y;

/** Splits a valid TOML text into statements. */
export function statementsOf(text: string): readonly Statement[] {
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
    // Quoted keys are parsed, because only the parser knows the escapes.
    key.push(...(/^["']/.test(written) ? Object.keys(parse(`${written} = 0`)) : [written]));
    at += written.length;
    const between = matched(dot, text, at);
    if (between === '') return { key, end: at };
    at += between.length;
  }
}

/** The start of the line after a value. */
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
  const own = new RegExp(pattern);
  own.lastIndex = at;
  return own.exec(text)?.[0] ?? '';
}

function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}
