import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'vitest';
import { createIo } from '#cli';
import type { ImportItem } from '#clients';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { configOf } from '#helpers/hub';
import { startImported } from '../../../hub/cli/import/running.ts';
import { createScriptedHub } from '../scripted-hub.ts';

const found: ImportItem['found'] = {
  client: 'cursor',
  source: { file: 'a.json', text: '', format: 'json' },
  path: [],
  name: 'one',
  entry: {},
  scope: 'user',
  folder: undefined,
};
const local = configOf({ name: 'one' });
assert.ok(local.launch.kind === 'local');
const server = {
  ...local,
  launch: { ...local.launch, package: { ecosystem: 'npm', spec: 'a@1.0.0' } as const },
};
const added: ImportItem = {
  found,
  action: 'add',
  name: 'one',
  entry: {},
  server,
  loosenings: [],
  dropped: [],
  hints: [],
};
const withImage: ImportItem = {
  ...added,
  server: { ...local, launch: { ...local.launch, image: 'a:1' } },
};
const remote: ImportItem = { ...added, server: configOf({ name: 'one', url: 'https://a.test' }) };
const present: ImportItem = { found, action: 'present', name: 'one' };

const createPipe = () =>
  createIo(
    { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    new AbortController().signal,
    createManualClock(),
  );

/** Returns the reason why an imported server does not run; undefined if it runs. */
async function whyNot(item: ImportItem, answer: object | (() => Promise<unknown>)) {
  const { hub, sent } = createScriptedHub({
    ask: async ({ path }) => {
      if (path === '/config/reload') return {};
      return typeof answer === 'function' ? await answer() : answer;
    },
  });
  const { running, others } = await startImported([item], hub, createPipe());
  assert.equal(running.length + others.length, 1);
  return { why: others[0]?.why, asked: sent.map(({ path }) => path) };
}

test('the hub reads its config again before servers are started', async () => {
  const { why, asked } = await whyNot(added, {
    state: 'running',
    source: { package: 'a@1.0.0' },
  });
  assert.equal(why, undefined);
  assert.deepEqual(asked, ['/config/reload', '/servers/one/start']);
});

test('the hub is not called if nothing was imported', async () => {
  const { hub, sent } = createScriptedHub({});
  assert.deepEqual(await startImported([], hub, createPipe()), { running: [], others: [] });
  assert.deepEqual(sent, []);
});

test.for([
  [withImage, { image: 'a:1' }, true],
  [withImage, { image: 'b:1' }, false],
  [added, { package: 'a@2.0.0' }, false],
  [added, undefined, false],
  [remote, { url: 'https://a.test' }, true],
  [remote, { image: 'a:1' }, false],
  [present, undefined, true],
  [present, { package: 'any@1.0.0' }, true],
] as const)(
  'a running server counts as the imported one by its image, package or address, %#',
  async ([item, source, isSame]) => {
    const { why } = await whyNot(item, { state: 'running', ...(source && { source }) });
    assert.equal(
      why,
      isSame ? undefined : 'the hub at http://hub.test runs another server of this name',
    );
  },
);

describe('a server counts as not running', () => {
  test.for([
    [{ state: 'failed', why: 'it exits' }, 'it is failed: it exits'],
    [{ state: 'stopped' }, 'it is stopped'],
    [undefined, 'it is undefined'],
  ] as const)('if the hub says so: %j', async ([answer, why]) => {
    assert.equal((await whyNot(added, async () => answer)).why, why);
  });

  test('if the hub refuses to start it', async () => {
    const refuse = async () => {
      throw new HubError('HUB_SERVER_UNKNOWN', 'no server is called "one"');
    };
    assert.equal((await whyNot(added, refuse)).why, 'no server is called "one"');
  });

  test('if it was not imported', async () => {
    const skipped: ImportItem = { found, action: 'skip', why: 'it is this hub' };
    const { why, asked } = await whyNot(skipped, {});
    assert.deepEqual([why, asked], ['it is this hub', ['/config/reload']]);
  });

  test('after 20 minutes', async () => {
    const clock = createManualClock();
    const io = { ...createPipe(), clock };
    const isAsked = Promise.withResolvers<void>();
    const { hub } = createScriptedHub({
      ask: async ({ path }) => {
        if (path === '/config/reload') return {};
        isAsked.resolve();
        return await new Promise(() => {});
      },
    });
    const outcome = startImported([added], hub, io);
    await isAsked.promise;
    clock.advance(20 * 60_000);
    assert.equal((await outcome).others[0]?.why, 'it does not run after 20 minutes');
    assert.equal(clock.waiting, 0);
  });
});

describe('if the hub cannot reload its config, no server is started:', () => {
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  test.for([
    [
      new HubError('HUB_CONNECT_FAILED', 'no hub answers', { cause }),
      'no hub is running at http://hub.test. Start it ("agenthub serve"), and repeat this command',
    ],
    [new HubError('HUB_CONNECT_FAILED', 'the hub hangs up'), 'the hub hangs up'],
    [new HubError('HUB_CONFIG_INVALID', 'hub.json:1:1'), 'hub.json:1:1'],
  ] as const)('%s', async ([error, why]) => {
    const { hub, sent } = createScriptedHub({
      ask: async () => {
        throw error;
      },
    });
    const { others } = await startImported([added, present], hub, createPipe());
    assert.deepEqual(
      others.map(other => other.why),
      [why, why],
    );
    assert.equal(sent.length, 1);
  });

  test('a bug is thrown, not reported as an answer', async () => {
    const { hub } = createScriptedHub({
      ask: async () => {
        throw new TypeError('a bug');
      },
    });
    await assert.rejects(startImported([added], hub, createPipe()), /a bug/);
  });
});
