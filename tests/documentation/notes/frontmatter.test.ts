import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parse } from 'yaml';
import { readNote, renderNote } from '../../../hub/documentation/notes/frontmatter.ts';

const facts = {
  title: 'a "quoted": title',
  tags: ['app', 'module'],
  description: 'Counts: words # of texts',
  source: '/home/me/app',
  commit: 'c0ffee',
  generatedAt: '2026-11-25T00:00:00.000Z',
  sourceHash: 's1',
  model: 'qwen:latest',
};
const note = renderNote(facts, '# Title\n\nhash: not this line\n');

test('frontmatter is YAML with the fields for Obsidian and the next run', () => {
  const [, head = ''] = note.split('---\n');
  const { hash, ...read } = parse(head);
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.deepEqual(read, {
    title: facts.title,
    tags: facts.tags,
    description: facts.description,
    source: facts.source,
    commit: facts.commit,
    generated_at: facts.generatedAt,
    generator: 'AgentHub documentation',
    model: facts.model,
    source_hash: 's1',
  });
});

test('written frontmatter is read back, also with Windows line ends', () => {
  const expected = {
    source: facts.source,
    sourceHash: 's1',
    description: facts.description,
    model: facts.model,
    isEdited: false,
  };
  assert.deepEqual(readNote(note), expected);
  assert.deepEqual(readNote(note.replaceAll('\n', '\r\n')), expected);
});

test.each([
  ['text', note.replace('# Title', '# Other')],
  ['a tag', note.replace('  - "app"', '  - "app"\n  - mine')],
  ['the hash', note.replace(/^hash: .*$/m, 'hash: "0"')],
  ['quotes', note.replace('commit: "c0ffee"', 'commit: c0ffee')],
  ['the end', `${note}\nmine`],
])('a change of %s is detected as an edit, and the source is still known', (_what, text) => {
  const { isEdited, sourceHash, source } = readNote(text);
  assert.deepEqual([isEdited, sourceHash, source], [true, 's1', facts.source]);
});

test.each(['', '# mine', '---\ntitle: x\n---\n', `x${note}`])(
  'a note that the hub did not write counts as edited: %j',
  text => {
    const { isEdited, source } = readNote(text);
    assert.deepEqual([isEdited, source], [true, undefined]);
  },
);
