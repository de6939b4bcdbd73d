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

test('only the lines of a change get other line endings, those of its place', () => {
  const mixed = new Map([['m', 'one\r\ntwo\nthree\r\nfour\n']]);
  const blocks = [edit('m', ['two', '2\n2'], ['2\nthree', '3\n3'])];
  expect(applyBlocks(blocks, mixed)).toEqual({
    files: [{ path: 'm', content: 'one\r\n2\n3\n3\r\nfour\n' }],
  });
});

test('a whole file keeps its line endings, if they are CR LF', () => {
  const file = (path: string) => ({ kind: 'file' as const, path, text: 'x\ny\n' });
  const mixed = new Map([...texts, ['m', 'one\r\ntwo\n']]);
  expect(applyBlocks(['dos', 'a', 'm', 'new'].map(file), mixed)).toEqual({
    files: [
      { path: 'dos', content: 'x\r\ny\r\n' },
      ...['a', 'm', 'new'].map(path => ({ path, content: 'x\ny\n' })),
    ],
  });
});

test('lines that nothing replaces leave no empty line, and a part of a line leaves the rest', () => {
  const deleted = (path: string, search: string) => applyBlocks([edit(path, [search, ''])], texts);
  expect(deleted('a', 'two')).toEqual({ files: [{ path: 'a', content: 'one\nthree\n' }] });
  expect(deleted('a', 'one\ntwo')).toEqual({ files: [{ path: 'a', content: 'three\n' }] });
  expect(deleted('dos', 'two')).toEqual({ files: [{ path: 'dos', content: 'one\r\n' }] });
  expect(deleted('a', 'th')).toEqual({ files: [{ path: 'a', content: 'one\ntwo\nree\n' }] });
  expect(deleted('a', 'ree')).toEqual({ files: [{ path: 'a', content: 'one\ntwo\nth\n' }] });
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
