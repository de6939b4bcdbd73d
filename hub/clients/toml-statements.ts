import { parse } from 'smol-toml';

/** A line, or several, of a TOML text that say one thing. In characters; the end is that of the last line. */
export type Statement = {
  readonly start: number;
  readonly end: number;
  readonly kind: 'table' | 'list' | 'pair';
  /** The whole key, with that of the table around a pair. */
  readonly key: readonly string[];
  /** Where the table stands that a pair belongs to, in the order of statements; -1 before the first. */
  readonly table: number;
};

const part = /[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;
const space = /[ \t]*/y;
const dot = /[ \t]*\.[ \t]*/y;
/** What of a value ends no line: strings of the four kinds, and comments. */
const whole =
  /"""(?:\\[^]|[^\\])*?"""(?:"{0,2})|'''[^]*?'''(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*/y;

/** The statements of a text that is valid TOML. */
export function statementsOf(text: string): readonly Statement[] {
  const found: Statement[] = [];
  let table = -1;
  let around: readonly string[] = [];
  for (let at = 0; at < text.length;) {
    const start = at + matched(space, text, at).length;
    if (/[#\r\n]/.test(text[start] ?? '\n')) {
      at = nextLine(text, start);
      continue;
    }
    const opened = /^\[{0,2}/.exec(text.slice(start, start + 2))?.[0].length ?? 0;
    const { key, end: keyEnd } = readKey(text, start + opened);
    const end = opened > 0 ? nextLine(text, keyEnd) : valueEnd(text, text.indexOf('=', keyEnd) + 1);
    // What is read wrongly ends it: whoever changes the text compares what comes of that.
    if (end <= at) break;
    if (opened > 0) {
      table = found.length;
      around = key;
      found.push({ start: at, end, kind: opened === 1 ? 'table' : 'list', key, table });
    } else found.push({ start: at, end, kind: 'pair', key: [...around, ...key], table });
    at = end;
  }
  return found;
}

function readKey(text: string, from: number) {
  const key: string[] = [];
  let at = from + matched(space, text, from).length;
  for (;;) {
    const written = matched(part, text, at);
    // As a key of its own, since only the parser knows what is escaped in it.
    key.push(...(/^["']/.test(written) ? Object.keys(parse(`${written} = 0`)) : [written]));
    at += written.length;
    const between = matched(dot, text, at);
    if (between === '') return { key, end: at };
    at += between.length;
  }
}

/** Where the line begins behind a value. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length;) {
    const skipped = matched(whole, text, at);
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
