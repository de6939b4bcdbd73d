import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { addRequestOf, mountsOf } from '../../hub/cli/add-request.ts';

const here = process.cwd();

test.for([
  ['./notes:/notes', `${join(here, 'notes')}:/notes`],
  ['notes/a:/notes:rw', `${join(here, 'notes/a')}:/notes:rw`],
  ['.:/work', `${here}:/work`],
  ['../a b:/work:ro', `${join(here, '../a b')}:/work:ro`],
  ['d:/work', `${join(here, 'd')}:/work`],
])('the source of %s starts at the working folder', ([given, mount]) => {
  assert.deepEqual(mountsOf({ mount: [given] }), [mount]);
});

test.for([
  '/notes:/notes:rw',
  '~/notes:/notes',
  '~:/notes',
  '${NOTES}:/notes',
  String.raw`C:\notes:/notes`,
  'C:/notes:/notes',
  'notes',
  'notes:work',
])('%s stays as it is', mount => {
  assert.deepEqual(mountsOf({ mount: [mount] }), [mount]);
});

test('further packages are the key "with" of the entry', () => {
  assert.deepEqual(addRequestOf({ with: ['mcp<2', 'httpx'] }).rest, { with: ['mcp<2', 'httpx'] });
});

test('mounts are in the request only if there are any', () => {
  assert.deepEqual(addRequestOf({}).rest, {});
  assert.deepEqual(addRequestOf({ mount: ['/a:/b'] }).rest, { mounts: ['/a:/b'] });
});
