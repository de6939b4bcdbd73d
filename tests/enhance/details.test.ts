import assert from 'node:assert/strict';
import { test } from 'vitest';
import { detailsOf } from '../../hub/enhance/details.ts';

const written = (text: string) =>
  detailsOf(text).map(({ kind, text: found }) => `${kind}: ${found}`);

test.for([
  ['wait three days, or 10 ms', ['number: 3d', 'number: 10ms']],
  ['read src/a.ts, see https://x.y/z?a=1', ['path: src/a.ts', 'url: https://x.y/z?a=1']],
  ['call getUser and `a b`', ['identifier: getUser', 'code: a b']],
  ['print "Hello" in TS', ['quote: "Hello"', 'name: typescript']],
  ['Don’t change it, never', ["negation: Don't", 'negation: never']],
  ['Fix\n```js\nx = 1\n```\nin a.ts', ['code: x = 1', 'identifier: a.ts']],
  ['Fix ```a', ['code: a']],
  ['Explain it', []],
] as const)('the details of %j are found', ([text, expected]) =>
  assert.deepEqual(written(text), expected),
);
