import assert from 'node:assert/strict';
import { test } from 'vitest';
import { columns, durationOf, tableOf } from '../../hub/cli/table.ts';

const screenOf = (columns?: number) => ({
  columns,
  isTerminal: columns !== undefined,
  paint: (style: string, text: string) => `<${style}>${text}</>`,
  foreign: (text: string) => text.replaceAll('\u001b', ''),
});

test('columns are as wide as their widest cell, and no line ends in spaces', () => {
  assert.deepEqual(
    tableOf(
      ['NAME', 'STATE', 'NOTE'],
      [
        ['memory', { text: 'running', style: 'green' }, ''],
        ['a', 'failed', 'two\nlines\u001b'],
      ],
      screenOf(),
    ),
    [
      '<bold>NAME</>    <bold>STATE</>    <bold>NOTE</>',
      'memory  <green>running</>',
      'a       failed   two lines',
    ],
  );
});

test('lines are cut at the width of the screen', () => {
  const [, row = ''] = tableOf(['NAME', 'NOTE'], [['memory', 'a long note']], screenOf(12));
  assert.ok(row.startsWith('memory  '));
  assert.ok(row.length <= 12, row);
});

test('the widest columns are cut on a narrow screen, so that the last one has space', () => {
  const rows = [
    ['a-server-with-a-very-long-name', 'unreachable', '0', 'it cannot be reached'],
    ['memory', 'running', '9', ''],
  ];
  const lines = tableOf(['NAME', 'STATE', 'TOOLS', 'NOTE'], rows, screenOf(48));
  assert.deepEqual(
    lines.map(line => line.replaceAll(/<.*?>/g, '')),
    [
      'NAME            STATE        TOOLS  NOTE',
      'a-server-with…  unreachable  0      it cannot b…',
      'memory          running      9',
    ],
  );
});

test('columns without space are empty', () => {
  const rows = [['a-long-name-of-one', 'running', 'why']];
  const [, row = ''] = tableOf(['NAME', 'STATE', 'NOTE'], rows, screenOf(16));
  assert.equal(row, 'a-long-name…  r…');
});

test.each([
  [0, '0s'],
  [-5_000, '0s'],
  [42_900, '42s'],
  [60_000, '1m'],
  [3_661_000, '1h 1m'],
  [86_400_000 * 3 + 3_600_000 * 4 + 59_000, '3d 4h'],
])('%d ms are %s', (milliseconds, expected) => {
  assert.equal(durationOf(milliseconds), expected);
});

test('the columns of 200,000 rows are aligned', () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => [`s${at}`, 'x']);
  const lines = columns(rows);
  assert.deepEqual([lines[0], lines.at(-1)], ['  s0       x', '  s199999  x']);
});
