import { TomlError, parse, stringify } from 'smol-toml';
import type { JsonText } from '#config';
import { HubError, type Json } from '#core';
import { type Statement, statementsOf } from './toml-statements.ts';

/**
 * Parses a TOML text without a byte order mark. Throws HUB_CONFIG_INVALID with file, line and column. `with`
 * writes a value as a table, in place of the earlier table or at the end.
 */
export function readTomlText({
  file,
  text,
}: {
  readonly file: string;
  readonly text: string;
}): JsonText {
  const value = parsed(file, text);
  return {
    value,
    with(path, wanted) {
      const own = ownParts(text, path);
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
    // The first line is the reason. The others quote the file, which may contain secrets.
    const [what = ''] = error.message.split('\n');
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${file}:${error.line}:${error.column}: not valid TOML: ${what.replace(/^Invalid TOML document: /, '')}`,
      { cause: new Error(what) },
    );
  }
}

type TomlPart = { readonly start: number; readonly end: number; readonly isTable: boolean };

/** The parts of the text that define the value at the path. A table with its pairs is one part. */
function ownParts(text: string, path: readonly string[]): readonly TomlPart[] {
  const statements = statementsOf(text);
  const isOwn = (statement: Statement | undefined) =>
    statement !== undefined && path.every((word, depth) => statement.key[depth] === word);
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

/** Removes a part, with the blank line before it if it was the last in its block. */
function withoutPart(text: string, part: TomlPart): string {
  const lineBreak = lineBreakOf(text);
  const isDoubled = text.slice(0, part.start).endsWith(lineBreak + lineBreak);
  const after = text.slice(part.end);
  const isLast = after === '' || after.startsWith(lineBreak);
  const start = isDoubled && isLast ? part.start - lineBreak.length : part.start;
  return splice(text, { ...part, start }, '');
}

/** The line break of a text: that of its first line. */
export const lineBreakOf = (text: string): '\r\n' | '\n' =>
  text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n';
