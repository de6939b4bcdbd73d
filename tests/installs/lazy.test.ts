import assert from 'node:assert/strict';
import { test } from 'vitest';
import { draftLazily } from '../../hub/installs/lazy.ts';
import { createInstallHub, requestOf } from './hub.ts';

test('a hub that is stopped before its first install refuses installs, reviews and removals', async () => {
  await using hub = createInstallHub();
  await hub.write('idle', { package: 'echo@1.0.0' });
  await hub.installs.start();
  await hub.installs.stop();
  const refused = { code: 'HUB_SHUTTING_DOWN' };
  await assert.rejects(hub.install({}), refused);
  await assert.rejects(hub.installs.review(requestOf({})), refused);
  await assert.rejects(hub.installs.remove('idle', { purge: true }), refused);
  assert.deepEqual([hub.launched, [...hub.entries.keys()]], [[], ['idle']]);
});

test('a draft has the name of the request, or a free one like that of its package', async () => {
  const named = async (name: string | undefined, ...taken: readonly string[]) =>
    (await draftLazily(requestOf({ name }), tried => taken.includes(tried))).name;
  assert.equal(await named('mine', 'mine', 'echo'), 'mine');
  assert.equal(await named(undefined), 'echo');
  assert.equal(await named(undefined, 'echo', 'echo-2'), 'echo-3');
  assert.equal(
    (await draftLazily(requestOf({}), () => true)).name,
    'echo',
    'the editor refuses it',
  );
});
