import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Owner } from '#upstream';
import {
  type OwnedNode,
  type WithOwner,
  createByOwner,
} from '../../hub/upstream/pending-requests.ts';

const owner = (): Owner => ({ serverRequest() {}, notification() {}, hasOpenRequest: false });

test('returns whether all requests have one owner, like a search would, in any sequence', () => {
  const owners = [owner(), owner(), owner()] as const;
  const chain = createByOwner<WithOwner>();
  let there: OwnedNode<WithOwner>[] = [];
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 0x7fffffff) % below;
  const seen = new Set<string>();
  for (let step = 0; step < 20_000; step++) {
    const place = there[random(there.length + 3)];
    if (place) {
      chain.remove(place);
      there = there.filter(one => one !== place);
    } else if (there.length < 6) there.push(chain.add({ owner: owners[random(3)] ?? owners[0] }));
    const different = new Set(there.map(({ value }) => value.owner)).size;
    seen.add(`${there.length} of ${different}`);
    assert.equal(chain.isOfSeveral, different > 1);
    assert.equal(chain.newest, there.at(-1)?.value);
    assert.equal(chain.size, there.length);
  }
  for (const state of ['0 of 0', '1 of 1', '4 of 1', '5 of 3', '2 of 2'])
    assert.ok(seen.has(state));
});

test('a removed request does not keep later ones in memory', () => {
  const chain = createByOwner<WithOwner>();
  const [first, second] = [chain.add({ owner: owner() }), chain.add({ owner: owner() })];
  chain.add({ owner: owner() });
  chain.remove(second);
  assert.deepEqual([second.before, second.after], [undefined, undefined]);
  assert.equal(first.after?.value, chain.newest);
});
