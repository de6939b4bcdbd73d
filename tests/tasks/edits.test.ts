import { expect, test } from 'vitest';
import { applyBlocks } from '../../hub/tasks/edits.ts';

const texts = new Map([
  ['a', 'one\ntwo\nthree\n'],
  ['dos', 'one\r\ntwo\r\n'],
]);
const edit = (path: string, ...changes: readonly (readonly [string, string])[]) => ({
  kind: 'edit' as const,
  path,
  changes: changes.map(([search, replace]) => ({ search, replace })),
});

test('blocks become the contents of files', () => {
  const blocks = [
    edit('a', ['two', '2'], ['2\nthree', 'end']),
    { kind: 'file' as const, path: 'new', text: 'x\n' },
    { kind: 'delete' as const, path: 'dos' },
  ];
  expect(applyBlocks(blocks, texts)).toEqual({
    files: [
      { path: 'a', content: 'one\nend\n' },
      { path: 'new', content: 'x\n' },
      { path: 'dos', content: undefined },
    ],
  });
});

test('a file keeps its line endings, and a replacement is literal', () => {
  expect(applyBlocks([edit('dos', ['one\ntwo', "$&\n$'"])], texts)).toEqual({
    files: [{ path: 'dos', content: "$&\r\n$'\r\n" }],
  });
});

test.each([
  ['a text that is not there', edit('a', ['four', '4']), 'a has no text "four": copy it exactly'],
  ['a text that is there twice', edit('a', ['o', '0']), 'a has "o" more than once'],
  [
    'a file that is not there',
    edit('b', ['x', 'y']),
    'b does not exist, or is not a text file: write it',
  ],
  ['a deletion of no file', { kind: 'delete' as const, path: 'b' }, 'it cannot be deleted'],
  ['a long text', edit('a', ['x'.repeat(200), 'y']), `${'x'.repeat(120)}..."`],
])('%s is a problem', (_, block, problem) => {
  expect(applyBlocks([block], texts)).toEqual({ problem: expect.stringContaining(problem) });
});
