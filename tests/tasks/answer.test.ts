import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../hub/tasks/answer.ts';

const lines = (...all: readonly string[]) => all.join('\n');

describe('an answer', () => {
  test('is read as whole files, edits and deletions; text around blocks is ignored', () => {
    const answer = lines(
      'Sure!',
      '@@@ FILE a.txt',
      'one',
      '',
      '@@@ END',
      '@@@ EDIT src/b.ts',
      '@@@ SEARCH',
      '  old',
      '@@@ REPLACE',
      '  new',
      '@@@ SEARCH',
      'gone',
      '@@@ REPLACE',
      '@@@ END',
      '@@@ DELETE c.txt',
      '@@@ END',
      'Done.',
    );
    expect(readAnswer(answer)).toEqual({
      blocks: [
        { kind: 'file', path: 'a.txt', text: 'one\n' },
        {
          kind: 'edit',
          path: 'src/b.ts',
          changes: [
            { search: '  old', replace: '  new' },
            { search: 'gone', replace: '' },
          ],
        },
        { kind: 'delete', path: 'c.txt' },
      ],
    });
  });

  test('may end its lines with CR LF, and put files into a Markdown fence', () => {
    const answer = lines('@@@ FILE a.js', '```js', 'x', '```', '@@@ END').replaceAll('\n', '\r\n');
    expect(readAnswer(answer)).toEqual({ blocks: [{ kind: 'file', path: 'a.js', text: 'x\n' }] });
    const markdown = lines('@@@ FILE a.md', '```js', 'x', '```', '@@@ END');
    expect(readAnswer(markdown)).toEqual({
      blocks: [{ kind: 'file', path: 'a.md', text: '```js\nx\n```\n' }],
    });
    expect(readAnswer(lines('@@@ FILE empty', '@@@ END'))).toEqual({
      blocks: [{ kind: 'file', path: 'empty', text: '' }],
    });
  });

  test.each([
    ['nothing', 'Here is the code', 'there is no block that begins with "@@@ FILE"'],
    ['no end', '@@@ FILE a\nx', 'the block of a has no line "@@@ END"'],
    ['a block in a block', '@@@ FILE a\n@@@ FILE b\n@@@ END', 'no line "@@@ END" before'],
    ['a stray marker', '@@@ END', 'line 1: "@@@ END" stands outside of a block'],
    ['one path twice', '@@@ FILE a\n@@@ END\n@@@ DELETE a\n@@@ END', 'a has two blocks'],
    ['text in a deletion', '@@@ DELETE a\nx\n@@@ END', 'leave it empty'],
    ['changes in a file', '@@@ FILE a\n@@@ SEARCH\n@@@ END', 'begin it with "@@@ EDIT a"'],
    ['an edit without changes', '@@@ EDIT a\n@@@ END', 'has no "@@@ SEARCH"'],
    ['text before a change', '@@@ EDIT a\nx\n@@@ END', 'does not begin with "@@@ SEARCH"'],
    ['no replacement', '@@@ EDIT a\n@@@ SEARCH\nx\n@@@ END', 'has no "@@@ REPLACE"'],
    ['two searches', '@@@ EDIT a\n@@@ SEARCH\nx\n@@@ SEARCH\n@@@ END', 'has no "@@@ REPLACE"'],
    ['a lone replacement', '@@@ EDIT a\n@@@ REPLACE\n@@@ END', 'has no "@@@ SEARCH" before it'],
    ['an empty search', '@@@ EDIT a\n@@@ SEARCH\n\n@@@ REPLACE\nx\n@@@ END', 'is empty'],
    ['a NUL character', '@@@ FILE a\n/*\0*/\n@@@ END', 'a has a NUL character'],
    [
      'too many blocks',
      Array.from({ length: 51 }, (_, at) => `@@@ FILE ${at}\n@@@ END`).join('\n'),
      'more than 50 blocks',
    ],
    [
      'too many changes',
      `@@@ EDIT a\n${'@@@ SEARCH\nx\n@@@ REPLACE\ny\n'.repeat(101)}@@@ END`,
      'more than 100 changes',
    ],
  ])('with %s is malformed', (_, answer, problem) => {
    expect(readAnswer(answer)).toEqual({ problem: expect.stringContaining(problem) });
  });
});
