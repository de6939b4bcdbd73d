import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Policy, type Principal, createPolicy } from '#policy';
import type { CatalogEntry } from '../../../hub/routing/catalog.ts';
import { createPinnedChanges } from '../../../hub/routing/find/pinned-changes.ts';
import { createScriptedServer } from '../scripted-server.ts';

const clientOf = (name: string, profile: string): Principal => ({
  kind: 'client',
  name,
  profile,
  grants: { administer: false },
});

test('the affected clients of a change are determined once for each client and profile', () => {
  const { server } = createScriptedServer({ name: 'own' });
  const policy: Policy = createPolicy({ servers: [] });
  const entryOf = (name: string): CatalogEntry => ({
    server,
    name,
    shownName: name,
    publicName: name,
    bytes: Buffer.from(name),
  });
  let list = ['a', 'b'].map(entryOf);
  let looks = 0;
  const changes = createPinnedChanges({
    access: {
      findOf: () => ({ isPinned: () => true }),
      viewOf: ({ name: client, profile }) => ({
        policy,
        client,
        shows(_, { publicName }) {
          looks++;
          return profile === 'wide' || publicName === 'a';
        },
      }),
    },
    catalog: { list: () => list },
    baseOf: one => one,
  });
  list = ['a', 'c'].map(entryOf);
  const isListed = changes.announcing('all', 'tool');
  for (let sessions = 0; sessions < 10; sessions++) {
    assert.equal(isListed(clientOf('ada', 'narrow')), false);
    assert.equal(isListed(clientOf('ada', 'wide')), true);
  }
  assert.equal(looks, 8);
});
