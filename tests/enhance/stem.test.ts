import assert from 'node:assert/strict';
import { test } from 'vitest';
import { stemOf } from '../../hub/enhance/stem.ts';

test.for([
  ['use', 'used', 'ed'],
  ['stop', 'stopping', 'ing'],
  ['query', 'queries', 's'],
  ['class', 'classes', 's'],
  ['cache', 'caches', 's'],
  ['retry', 'retried', 'ed'],
  ['call', 'calls', 's'],
  ['call', 'called', 'ed'],
  ['scrape', 'scraping', 'ing'],
  ['size', 'sizes', 's'],
] as const)('%s and %s are forms of one word', ([word, other, form]) => {
  const isKnown = (known: string) => known === word;
  assert.deepEqual(stemOf(other, isKnown), { stem: stemOf(word).stem, form });
});

test.for([
  ['head', 'heading'],
  ['file', 'fill'],
  ['plan', 'plane'],
  ['local', 'locale'],
  ['scrap', 'scrape'],
  ['planned', 'planed'],
  ['see', 'seed'],
  ['new', 'news'],
  ['statu', 'status'],
] as const)('%s and %s are two words', ([word, other]) =>
  assert.notEqual(stemOf(word).stem, stemOf(other).stem),
);

test.for(['invaded', 'assumed', 'acquired', 'captured', 'managed', 'revoked'])(
  '%s has the same stem with and without the final "e" of its verb',
  word => assert.equal(stemOf(word).stem, stemOf(word.slice(0, -1)).stem),
);

test.for(['loaded', 'avoided', 'streamed', 'repaired', 'formed', 'hugged'])(
  '%s has the stem of a verb without a final "e"',
  word => assert.notEqual(stemOf(word).stem, stemOf(word.slice(0, -1)).stem),
);
