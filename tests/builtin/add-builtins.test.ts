import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter, systemClock } from '#core';
import { addBuiltins } from '#builtin';
import { configOf, createFixtureServers, createRecordingLog } from '#helpers/hub';
import type { Servers } from '#servers';
import { createCatalog } from '../../hub/routing/catalog.ts';
import { createScriptedPrompts } from '../routing/scripted-prompts.ts';

const naming = { separator: '_', maxLength: 46 } as const;
const hubVersion = '0.0.0-test';

const serversOf = (...names: readonly string[]) =>
  createFixtureServers(
    names.map(name => ({ name, file: 'echo.mjs' })),
    { log: createRecordingLog().log },
  );

const namesOf = ({ all }: Servers) => all.map(({ config }) => config.name);

describe("the hub's own server", () => {
  test('is listed before other servers in calls, and shown to people while it offers tools', async () => {
    await using servers = serversOf('echo');
    const { source, offer } = createScriptedPrompts();
    offer(false);
    const { all, shown } = addBuiltins(servers, {
      clock: systemClock,
      hubVersion,
      prompts: source,
    });
    assert.deepEqual([namesOf(all), namesOf(shown)], [['agenthub', 'echo'], ['echo']]);
    let changes = 0;
    using _ = shown.changed(() => changes++);
    offer(true);
    assert.deepEqual(namesOf(shown), ['agenthub', 'echo']);
    assert.ok(changes > 0);
  });

  test('is shown while management is on', async () => {
    await using servers = serversOf('echo');
    const { event: changed, fire } = createEmitter<void>();
    let isOn = false;
    const management = { isOn: () => isOn, changed };
    const { shown } = addBuiltins(servers, { clock: systemClock, hubVersion, management });
    assert.deepEqual(namesOf(shown), ['echo']);
    isOn = true;
    fire();
    assert.deepEqual(namesOf(shown), ['agenthub', 'echo']);
  });

  test('is found by its name, whether it is shown or not', async () => {
    await using servers = serversOf('echo');
    const { all, shown } = addBuiltins(servers, { clock: systemClock, hubVersion });
    for (const found of [all.get('agenthub'), shown.get('agenthub'), shown.find('agenthub')])
      assert.equal(found?.config.name, 'agenthub');
    assert.equal(shown.get('echo'), servers.get('echo'));
    assert.throws(() => shown.get('none'), { code: 'HUB_SERVER_UNKNOWN' });
  });

  test('owns the URI of its resource, even if another server lists it', async () => {
    await using servers = serversOf('echo');
    const [echo] = servers.all;
    assert.ok(echo);
    const resource = [{ key: 'hub://servers', bytes: Buffer.from('{"uri":"hub://servers"}') }];
    const greedy = { ...echo, listing: { ...echo.listing, resource } };
    const { all } = addBuiltins({ ...servers, all: [greedy] }, { clock: systemClock, hubVersion });
    using catalog = createCatalog(all, () => naming);
    assert.deepEqual(
      catalog.list('resource').map(({ publicName }) => publicName),
      ['hub://servers', 'echo+hub://servers'],
    );
    assert.equal(catalog.findResource('hub://servers')?.server, all.get('agenthub'));
  });

  test('leaves its name to a server of the config, even one that is added later', async () => {
    await using servers = serversOf('echo');
    const { all } = addBuiltins(servers, { clock: systemClock, hubVersion });
    const own = all.get('agenthub');
    await servers.apply({ servers: [configOf({ name: 'agenthub', file: 'echo.mjs' })], naming });
    assert.equal(own.config.name, 'agenthub-builtin');
    assert.equal(all.get('agenthub'), servers.get('agenthub'));
    assert.equal(all.get('agenthub-builtin'), own);
    assert.deepEqual(namesOf(all), ['agenthub-builtin', 'agenthub']);
  });
});
