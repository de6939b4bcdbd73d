import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type LineFormat, entriesIn, formatEntry } from '../../hub/cli/log-lines.ts';

const at = '2026-01-31T12:00:00.000Z';
const plain: LineFormat = { nameWidth: undefined, hasTimes: false };
/** Screen that marks styles with tags, and the escape characters of foreign text with ^. */
const screen = {
  paint: (style: string, text: string) => `<${style}>${text}</>`,
  foreign: (text: string) => text.replaceAll('\u001b', '^'),
};
const formatted = (line: object, format: Partial<LineFormat> = {}) =>
  entriesIn({ lines: [{ at, run: 1, ...line }] }).map(entry =>
    formatEntry(entry, { ...plain, ...format }, screen),
  );

test.for([
  [{ server: 'a', by: 'server', text: 'x \u001b[2J' }, 'x ^[2J'],
  [{ server: 'a', by: 'hub', text: 'building' }, '<dim># building</>'],
  [{ server: 'a', by: 'hub', event: 'began', text: '' }, '<dim># starting</>'],
  [{ server: 'a', by: 'hub', event: 'ended', text: 'exit code 1' }, '<dim># ended: exit code 1</>'],
  [{ by: 'hub', event: 'began', text: '' }, '<dim># started</>'],
  [{ by: 'hub', level: 'warn', text: 'careful' }, '<yellow>warning</>: careful'],
  [{ by: 'hub', level: 'error', text: 'broken' }, '<red>error</>: broken'],
  [{ by: 'hub', level: 'info', text: 'listens' }, 'listens'],
] as const)('%j is shown as %s', ([line, expected]) => {
  assert.deepEqual(formatted(line), [expected]);
});

test('a line begins with name and time', () => {
  const format = { nameWidth: 4, hasTimes: true };
  const front = `<dim>${at}</> <cyan>`;
  assert.deepEqual(formatted({ server: 'a', by: 'server', text: 'x' }, format), [
    `${front}a   </> | x`,
  ]);
  assert.deepEqual(formatted({ by: 'hub', level: 'info', text: 'x' }, format), [
    `${front}hub </> | x`,
  ]);
});

test('a response without lines has no entries', () => {
  assert.deepEqual(entriesIn({ lines: 'none' }), []);
  assert.deepEqual(entriesIn(undefined), []);
});
