import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter, systemClock } from '#core';
import { startCpuTimer } from '#helpers/cpu-time';
import { configOf } from '#helpers/hub';
import { type ListKind, type Server, listMethods } from '#servers';
import { createAdmission } from '../../hub/servers/admission.ts';
import { createCatalog } from '../../hub/routing/catalog.ts';

/** Creates a server that lists what the test passes to `offer`, and nothing before. */
function createOffering(name: string) {
  const listed = createEmitter<ListKind>();
  const nothing = createEmitter<never>().event;
  let listing: Server['listing'] = { tool: [], resource: [], template: [], prompt: [] };
  const server: Server = {
    config: configOf({ name }),
    status: { state: 'stopped', byHand: false },
    changed: nothing,
    listed: listed.event,
    notified: nothing,
    serverRequest: nothing,
    wrote: nothing,
    get listing() {
      return listing;
    },
    running: undefined,
    health: undefined,
    admission: createAdmission(configOf({ name }), {
      clock: systemClock,
      breaker: undefined,
      revive() {},
    }),
    restarts: 0,
    instances: 0,
    advice: [],
    advise() {},
    watch() {},
    misfits: () => [],
    freshUntil: () => 0,
    scope: () => 'private',
    async recall() {},
    async refresh() {},
    lastError: undefined,
    refusedEntry: undefined,
    stderr: () => '',
    start() {},
    async stop() {},
    async close() {},
    closed: undefined,
    async reconfigure() {},
    ready: () => Promise.reject(new Error('it does not run')),
  };
  function offerAs(publicName: string | undefined, kind: ListKind, ...keys: readonly string[]) {
    const { key: member } = listMethods[kind];
    const items = keys.map(key => ({
      key,
      bytes: Buffer.from(JSON.stringify({ [member]: key })),
      ...(publicName !== undefined && { publicName }),
    }));
    listing = { ...listing, [kind]: items };
    listed.fire(kind);
  }
  return Object.assign(server, {
    /** Offers items with fixed public names, as the hub's own servers do. */
    offerAs,
    offer: (kind: ListKind, ...keys: readonly string[]) => offerAs(undefined, kind, ...keys),
  });
}

const never = createEmitter<undefined>().event;
const naming = { separator: '_', maxLength: 46 } as const;

describe('the name of a tool', () => {
  test('stays with its server when one starts that could claim it too, and the collision is reported', () => {
    const [a, ab] = [createOffering('a'), createOffering('a_b')];
    const catalog = createCatalog({ all: [a, ab], changed: never }, () => naming);
    ab.offer('tool', 'c');
    assert.equal(catalog.find('tool', 'a_b_c')?.server, ab);
    a.offer('tool', 'b_c');
    assert.equal(catalog.find('tool', 'a_b_c')?.server, ab);
    const [collision] = catalog.collisions();
    assert.deepEqual([collision?.server, collision?.wanted], ['a', 'a_b_c']);
    const own = collision?.publicName ?? '';
    assert.equal(catalog.find('tool', own)?.server, a);
    ab.offer('tool');
    assert.equal(catalog.find('tool', 'a_b_c'), undefined, 'nor is it given to the other');
    assert.equal(catalog.find('tool', own)?.server, a);
  });
});

describe("the hub's own resource", () => {
  test('has its own URI, and that of a server another one', () => {
    const [greedy, own] = [createOffering('greedy'), createOffering('agenthub')];
    const catalog = createCatalog({ all: [greedy, own], changed: never }, () => naming);
    greedy.offer('resource', 'hub://servers');
    own.offerAs('hub://servers', 'resource', 'hub://servers');
    assert.deepEqual(
      catalog.list('resource').map(({ bytes }) => bytes.toString()),
      ['{"uri":"greedy+hub://servers"}', '{"uri":"hub://servers"}'],
    );
    assert.equal(catalog.findResource('greedy+hub://servers')?.uri, 'hub://servers');
    assert.equal(catalog.collisions().length, 1);
  });
});

describe('a URI that no server lists', () => {
  test('is matched against hostile templates quickly, and found with another server', () => {
    const [hostile, honest] = [createOffering('hostile'), createOffering('honest')];
    const catalog = createCatalog({ all: [hostile, honest], changed: never }, () => naming);
    hostile.offer(
      'template',
      ...Array.from({ length: 1_000 }, (_, at) => `${'{+a}a'.repeat(15)}${at}!`),
    );
    honest.offer('template', 'x://{name}');
    const uri = `x://${'a'.repeat(2_000)}`;
    catalog.findResource(uri);
    const cpuMs = startCpuTimer();
    for (let read = 0; read < 100; read++) assert.equal(catalog.findResource(uri)?.server, honest);
    const each = cpuMs() / 100;
    // Without a budget, a search takes about 250 ms.
    assert.ok(each < 20, `${each} ms`);
  });
});

test('no server gets a reserved name of the hub, whether the hub offers anything by it or not', () => {
  const agenthub = createOffering('agenthub');
  const catalog = createCatalog({ all: [agenthub], changed: never }, () => naming);
  agenthub.offer('tool', 'enhance_prompt');
  agenthub.offer('prompt', 'enhance_prompt');
  assert.equal(catalog.find('tool', 'agenthub_enhance_prompt'), undefined);
  const [tool] = catalog.list('tool');
  assert.match(String(tool?.publicName), /^agenthub_enhance_prompt_[0-9a-f]{7}$/);
  assert.equal(catalog.find('prompt', 'agenthub_enhance_prompt')?.server, agenthub);
});
