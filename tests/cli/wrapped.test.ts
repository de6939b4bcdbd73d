import assert from 'node:assert/strict';
import { test } from 'vitest';
import { besideNames, roomOf, withCommand } from '../../hub/cli/wrapped.ts';

test.each([
  ['a pipe', undefined, Infinity],
  ['a terminal', 60, 50],
  ['a terminal that does not know its width', 0, 20],
])('%s has the expected width for a text beside ten columns', (_name, columns, room) => {
  assert.equal(roomOf(columns, 10), room);
});

test('a command that does not fit is on a line of its own, and is never wrapped', () => {
  const command = 'agenthub doctor --remove abc --volumes --dry-run';
  assert.deepEqual(withCommand('If it is not needed', command, 80), [
    `If it is not needed: ${command}`,
  ]);
  assert.deepEqual(withCommand('If it is not needed', command, 10), [
    'If it is',
    'not',
    'needed:',
    `  ${command}`,
  ]);
});

test('the lines of a text are aligned beside its name', () => {
  assert.deepEqual(
    besideNames([
      ['hub', ['one', 'two']],
      ['config', ['three']],
      ['data', []],
    ]),
    ['  hub     one', '          two', '  config  three'],
  );
});
