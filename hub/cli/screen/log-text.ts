import { isObject, tryParseJson } from '#core';
import type { Screen } from '../terminal.ts';
import { roomOf } from '../wrapped.ts';
import { wrapText } from './text-width.ts';

/** A line of the hub's log, in the form that the screen shows. */
type ShownLog = {
  /** Server that the line is about. */
  readonly server: string | undefined;
  readonly text: string;
  readonly isStderr: boolean;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
};

const levels = ['debug', 'info', 'warn', 'error'] as const;
const changes = { added: 'added', removed: 'removed', changed: 'changed', keys: 'changed keys' };

/** Parses a JSON line of the log; returns undefined if it is not JSON. */
export function readLogLine(line: string): ShownLog | undefined {
  const record = tryParseJson(line);
  if (!isObject(record)) return undefined;
  const { level: name, time: _, msg, server: whose, stderr, ...fields } = record;
  const server = typeof whose === 'string' ? whose : undefined;
  const level = levels.find(one => one === name) ?? 'info';
  if (server !== undefined && typeof stderr === 'string')
    return { server, level, isStderr: true, text: stderr };
  const applied = msg === 'the config was changed' ? changesIn(fields) : undefined;
  if (applied !== undefined) return { server, level: 'warn', isStderr: false, text: applied };
  const more = Object.entries(fields).filter(([key]) => key !== 'part');
  const about = more.map(([key, value]) => `${key}: ${textOf(value)}`).join(', ');
  const text = about === '' ? String(msg) : `${String(msg)} (${about})`;
  return { server, level, isStderr: false, text };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function changesIn(fields: { readonly [name: string]: unknown }): string {
  const parts = Object.entries(changes).flatMap(([field, shown]) => {
    const names = fields[field];
    return Array.isArray(names) && names.length > 0 ? [`${shown} ${names.join(', ')}`] : [];
  });
  return `the config was applied${parts.length > 0 ? `: ${parts.join('; ')}` : ''}`;
}

/**
 * Formats a line with its source in front. Removes control characters. Does not wrap output of servers, so that users
 * can copy it.
 */
export function formatLog(
  { server, text, isStderr, level }: ShownLog,
  { nameWidth, columns }: { readonly nameWidth: number; readonly columns: number },
  { paint, foreign }: Pick<Screen, 'paint' | 'foreign'>,
): string {
  const shown = foreign(text).replaceAll('\t', '    ');
  const source = paint(isStderr ? 'cyan' : 'bold', foreign(server ?? 'hub').padEnd(nameWidth));
  if (isStderr) return `${source} | ${shown}`;
  const colour = { debug: 'dim', info: 'dim', warn: 'yellow', error: 'red' } as const;
  return `${source} | ${wrapText(shown, roomOf(columns, nameWidth + 4))
    .map(line => paint(colour[level], line))
    .join(`\n${' '.repeat(nameWidth)} | `)}`;
}
