import assert from 'node:assert/strict';
import { test } from 'vitest';
import { keptResultsOf } from '../../hub/config/kept-results.ts';
import { serverSchema } from '../../hub/config/server-schema.ts';
import { draftOf } from './entry-draft.ts';

test("an entry says which tools' results are kept, for how long and for whom", () => {
  const cache = { tools: ['look'], ttl: 1.5 };
  assert.deepEqual(keptResultsOf(draftOf({ image: 'a:1', cache }).draft), {
    tools: ['look'],
    ttlMs: 1500,
    per: 'client',
    hints: 'both',
    maxBytes: 16 * 2 ** 20,
  });
  const more = { ...cache, per: 'all', max_size: '1k' };
  const read = keptResultsOf(draftOf({ image: 'a:1', cache: more }).draft);
  assert.deepEqual([read?.per, read?.maxBytes], ['all', 1024]);
  assert.equal(keptResultsOf(draftOf({ image: 'a:1' }).draft), undefined);
});

test('instances per session keep no results', () => {
  const cache = { tools: ['look'], ttl: 60 };
  const { draft, problems } = draftOf({ image: 'a:1', instance: 'session', cache });
  keptResultsOf(draft);
  assert.match(problems.join('\n'), /^cache: cannot be combined with "instance": "session"/);
});

test.for([
  [{ tools: [], ttl: 60 }],
  [{ tools: ['look'] }],
  [{ tools: ['look'], ttl: 0 }],
  [{ tools: ['look'], ttl: 86_401 }],
  [{ tools: ['look'], ttl: 60, per: 'session' }],
  [{ tools: ['look'], ttl: 60, hints: 'none' }],
  [{ tools: 'look', ttl: 60 }],
  [{ ttl: 60 }],
])('%j is refused', ([cache]) => {
  assert.equal(serverSchema.safeParse({ image: 'a:1', cache }).success, false);
});
