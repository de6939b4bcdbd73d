import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  createNoteNames,
  requireProjectName,
} from '../../../hub/documentation/notes/note-names.ts';

test('names are unique regardless of case, and without characters that links cannot have', () => {
  const { ofModule, ...overviews } = createNoteNames('app');
  const folders = [
    'a/b',
    'a - b',
    'A/B',
    'README',
    'x#y^z[1]|q:w',
    'line\u2028break\u2029',
    '.',
    'end.',
    '日本/語'.repeat(40),
    '日本/語'.repeat(41),
  ];
  const names = [...Object.values(overviews), ...folders.map(ofModule)];
  assert.equal(new Set(names.map(name => name.toLowerCase())).size, names.length);
  for (const name of names) {
    assert.doesNotMatch(name, /[:/\\|#^[\]\u2028\u2029]|[. ]$/);
    assert.ok(Buffer.byteLength(name) <= 160 && name.isWellFormed(), name);
  }
  assert.deepEqual(names.slice(0, 4), [
    'app - README',
    'app - Index',
    'app - Architecture',
    'app - a - b',
  ]);
  assert.match(names[4] ?? '', /^app - a - b [0-9a-f]{8}$/);
});

test('the same folders get the same names', () => {
  const namesOf = () => ['a/b', 'a - b'].map(createNoteNames('app').ofModule);
  assert.deepEqual(namesOf(), namesOf());
});

test.each([
  '',
  ' a',
  'a/b',
  'a:b',
  'a|b',
  'a#b',
  '..',
  '.a',
  'a.',
  'CON',
  'a'.repeat(81),
  'a\u0000',
  '../x',
])('the project name %j is refused', name => {
  assert.throws(() => requireProjectName(name), {
    code: 'HUB_REQUEST_INVALID',
    message: /^project_name: /,
  });
});

test.each(['my project', 'AgentHub', 'größe', 'a.b-c_d'])(
  'the project name %j is allowed',
  name => {
    assert.equal(requireProjectName(name), name);
  },
);
