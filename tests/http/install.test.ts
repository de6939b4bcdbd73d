import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { createInstallHub } from '../installs/hub.ts';
import { send } from '../transports/raw.ts';

const json = { 'content-type': 'application/json' };
const events = { ...json, accept: 'text/event-stream' };

/** Starts a hub that can install servers. `config` records what it installs. */
async function installing() {
  const config = createInstallHub();
  const hub = await startHub([], { installs: config.installs });
  return {
    config,
    post: (body: object | string, headers: Record<string, string> = json, signal?: AbortSignal) =>
      send(`${hub.url}/servers/install`, {
        method: 'POST',
        headers: { ...hub.ownerHeaders, ...headers },
        body,
        ...(signal && { signal }),
      }),
    try: (body: object, headers: Record<string, string> = json) =>
      send(`${hub.url}/servers/try`, {
        method: 'POST',
        headers: { ...hub.ownerHeaders, ...headers },
        body,
      }),
    remove: (path: string, body?: string) =>
      send(`${hub.url}/servers/${path}`, {
        method: 'DELETE',
        headers: { ...hub.ownerHeaders, ...(body !== undefined && json) },
        ...(body !== undefined && { body }),
      }),
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

/** Parses the events of a stream, in order. */
function eventsOf(text: string): readonly { readonly event: string; readonly data: unknown }[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(block => {
      const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      return { event, data: JSON.parse(data) };
    });
}

describe('POST /servers/install', () => {
  test('answers 201 with the installed server and its location', async () => {
    await using hub = await installing();
    const answer = await hub.post({ package: 'echo@1.0.0', name: 'mine' });
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.location, '/servers/mine');
    const { name, tools } = await answer.json();
    assert.equal(name, 'mine');
    assert.ok(isObject(tools) && Number(tools['count']) > 0);
  });

  test('sends each step as an event if requested, and ends with the same answer', async () => {
    await using hub = await installing();
    const answer = await hub.post({ package: 'echo@1.0.0' }, events);
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/event-stream/);
    const all = eventsOf(await answer.body());
    const steps = all.flatMap(({ event, data }) =>
      event === 'progress' && isObject(data) ? [data['step']] : [],
    );
    assert.deepEqual([...new Set(steps)], ['validate', 'resolve', 'build', 'trial', 'write']);
    const last = all.at(-1);
    assert.equal(last?.event, 'done');
    assert.ok(isObject(last.data) && last.data['name'] === 'echo');
    assert.equal(all.filter(({ event }) => event !== 'progress').length, 1);
  });

  test('sends the output before the failure, with the error as the last event', async () => {
    await using hub = await installing();
    const all = eventsOf(await (await hub.post({ package: 'absent@1.0.0' }, events)).body());
    const written = all.map(({ data }) => (isObject(data) ? data['text'] : undefined));
    assert.ok(written.includes('npm error code E404'));
    const last = all.at(-1);
    assert.equal(last?.event, 'error');
    const error = isObject(last.data) ? last.data['error'] : undefined;
    assert.ok(isObject(error));
    assert.equal(error['code'], 'HUB_SERVER_START_FAILED');
    assert.match(String(error['output']), /404 Not Found/);
    const plain = await hub.post({ package: 'absent@1.0.0' });
    assert.equal(plain.status, 503);
    assert.deepEqual(Object.keys((await plain.json())['error'] ?? {}), Object.keys(error));
  });

  test.each([
    ['{"package":', 400, /cannot be read/],
    [{ pakage: 'x' }, 400, /pakage: is not a field/],
    [{ package: 'x y' }, 400, /package: \\"x y\\" is not allowed/],
    [{ package: 'echo@1.0.0', name: 'not a name' }, 400, /a server name has 1 to 32/],
    [{ package: 'echo@1.0.0', network: 'host' }, 400, /\\"none\\", \\"bridge\\" or/],
    [
      { server: { name: 'a/b', packages: [{ registryType: 'mcpb', identifier: 'x' }] } },
      400,
      /mcpb/,
    ],
  ])('refuses %j with %i, before any event', async (body, status, message) => {
    await using hub = await installing();
    for (const headers of [json, events]) {
      const answer = await hub.post(body, headers);
      assert.equal(answer.status, status);
      assert.match(await answer.body(), message);
    }
    assert.equal(hub.config.entries.size, 0);
  });

  /** Settings of an entry that need an explicit permission, and the names of those permissions. */
  const loosened: readonly (readonly [body: object, names: readonly string[]])[] = [
    [{ runtime: 'process' }, ['runtime:process']],
    [{ user: 0 }, ['user:0']],
    [{ user: '1000:0' }, ['user:1000:0']],
    [{ user: 'app' }, ['user:app']],
    [{ network: 'bridge' }, ['network:bridge']],
    [{ mounts: ['/srv/notes:/x:rw'] }, ['mount:/srv/notes:/x:rw']],
    [
      { mounts: [{ source: '/srv/notes', target: '/x', read_only: false }] },
      ['mount:/srv/notes:/x:rw'],
    ],
    [{ env: { A: 'x${GIVEN}' } }, ['variable:GIVEN']],
    [{ args: ['${GIVEN}'] }, ['variable:GIVEN']],
    [{ mounts: ['${GIVEN:-/srv}:/x'] }, ['variable:GIVEN']],
    [{ package: 'https://mcp.example/${GIVEN}', headers: { A: '${GIVEN}' } }, ['variable:GIVEN']],
    [
      {
        package: undefined,
        server: {
          name: 'a/b',
          packages: [
            {
              registryType: 'npm',
              identifier: 'echo',
              version: '1.0.0',
              environmentVariables: [{ name: 'A' }],
            },
          ],
        },
        env: { A: '${GIVEN}' },
      },
      ['variable:GIVEN'],
    ],
    [{ runtime: 'process', network: 'bridge' }, ['runtime:process', 'network:bridge']],
  ];

  test.each(loosened)('requires that %j is confirmed as %j', async (body, names) => {
    await using hub = await installing();
    const wanted = { package: 'echo@1.0.0', name: 'mine', ...body };
    for (const headers of [json, events])
      for (const [confirm, unknown] of [
        [undefined, []],
        [names.slice(1), []],
        [[...names, 'network:all'], ['network:all']],
        [['runtime:'], ['runtime:']],
      ] as const) {
        const answer = await hub.post({ ...wanted, ...(confirm && { confirm }) }, headers);
        assert.equal(answer.status, 409);
        const { error } = await answer.json();
        assert.ok(isObject(error));
        assert.equal(error['code'], 'HUB_CONFIRMATION_NEEDED');
        const { loosenings } = error;
        assert.ok(Array.isArray(loosenings));
        assert.deepEqual(
          loosenings.map((one: unknown) => isObject(one) && one['name']),
          names,
        );
        assert.deepEqual(error['unknown'], unknown);
        const missing = names.filter(name => !(confirm ?? []).some(one => one === name));
        assert.deepEqual(error['missing'], missing);
        assert.doesNotMatch(JSON.stringify(error), /value/, 'no value of a variable is shown');
      }
    assert.equal(hub.config.entries.size + hub.config.launched.length, 0, 'nothing was begun');
  });

  test('installs a server whose settings are confirmed by name', async () => {
    await using hub = await installing();
    const body = { package: 'echo@1.0.0', runtime: 'process', env: { A: '${GIVEN}' } };
    const answer = await hub.post({ ...body, confirm: ['variable:GIVEN', 'runtime:process'] });
    assert.equal(answer.status, 201, await answer.body());
    assert.deepEqual(hub.config.entries.get('echo'), body, '"confirm" is no key of an entry');
  });

  test('requires a confirmation for the volume of another server', async () => {
    await using hub = await installing();
    await hub.config.write('notes', { package: 'echo@1.0.0', volumes: { diary: '/data' } });
    const answer = await hub.post({ package: 'echo@1.0.0', volumes: { diary: '/x' } });
    assert.equal(answer.status, 409);
    assert.match(await answer.body(), /volume:diary.*data of the server notes/);
  });

  test('refuses a name that is in use with 409', async () => {
    await using hub = await installing();
    await (await hub.post({ package: 'echo@1.0.0' })).body();
    const again = await hub.post({ package: 'echo@1.0.0', name: 'echo' });
    assert.equal(again.status, 409);
    assert.match(await again.body(), /HUB_SERVER_EXISTS/);
  });

  for (const headers of [json, events])
    test(`is aborted when the client disconnects (${headers === json ? 'plain' : 'events'})`, async () => {
      await using hub = await installing();
      const hangUp = new AbortController();
      const asked = hub
        .post({ package: 'never-ready@1.0.0', name: 'mine' }, headers, hangUp.signal)
        .catch(() => undefined);
      await until(() => hub.config.launched.length > 0);
      hangUp.abort();
      const answer = await asked;
      answer?.cut();
      await until(() => hub.config.logged.every(({ level }) => level !== 'error'));
      // The hub frees the name as soon as the cancelled install is cleaned up.
      let status = 409;
      while (status === 409) {
        const next = await hub.post({ package: 'echo@1.0.0', name: 'mine' });
        await next.body();
        ({ status } = next);
      }
      assert.equal(status, 201);
    });

  test('hides the text of a bug, which is in the log', async () => {
    const installs = {
      review: async () => [],
      trial: async () => assert.fail('no trial was asked for'),
      install(_: unknown, tell: (progress: { step: 'build'; text: string }) => void) {
        tell({ step: 'build', text: 'begun' });
        return Promise.reject(new TypeError('a secret'));
      },
      remove: () => Promise.reject(new HubError('HUB_SERVER_UNKNOWN', 'no')),
    };
    await using hub = await startHub([], { installs });
    const headers = { ...hub.ownerHeaders, ...events };
    const sent = { method: 'POST', headers, body: { package: 'x' } };
    const text = await (await send(`${hub.url}/servers/install`, sent)).body();
    assert.match(text, /\nevent: error\ndata: .*HUB_INTERNAL/);
    assert.ok(!text.includes('a secret'));
  });
});

describe('DELETE /servers/{name}', () => {
  test('answers with what was removed, and 404 for an unknown server', async () => {
    await using hub = await installing();
    await (await hub.post({ package: 'echo@1.0.0' })).body();
    const answer = await hub.remove('echo?purge');
    assert.equal(answer.status, 200);
    const { removed, left } = await answer.json();
    assert.ok(Array.isArray(removed));
    assert.deepEqual(
      removed.map(one => isObject(one) && one['kind']),
      ['entry', 'folder'],
    );
    assert.deepEqual(left, []);
    assert.equal((await hub.remove('echo')).status, 404);
  });

  test('refuses a body, which would otherwise be ignored', async () => {
    await using hub = await installing();
    await (await hub.post({ package: 'echo@1.0.0' })).body();
    for (const body of ['[]', '{"dry_run":true}']) {
      const answer = await hub.remove('echo', body);
      assert.equal(answer.status, 400, await answer.body());
    }
    assert.equal((await hub.remove('echo')).status, 200);
  });

  test('accepts the parameter "purge" only', async () => {
    await using hub = await installing();
    for (const query of ['purge=maybe', 'force=true']) {
      const refused = await hub.remove(`echo?${query}`);
      assert.equal(refused.status, 400);
      assert.match(await refused.body(), /purge/);
    }
  });
});

test('POST /servers/try answers with what a server offers, as JSON or after its steps, and adds nothing', async () => {
  await using hub = await installing();
  const body = { name: 'mine', entry: { package: 'echo@1.0.0' } };
  const plain = await hub.try(body);
  assert.equal(plain.status, 200);
  const { name, tools } = await plain.json();
  assert.ok(name === 'mine' && isObject(tools) && Number(tools['count']) > 0);
  const all = eventsOf(await (await hub.try(body, events)).body());
  assert.equal(all.at(-1)?.event, 'done');
  const refused = await hub.try({ ...body, package: 'echo@1.0.0' });
  assert.equal(refused.status, 400);
  assert.match(await refused.body(), /package/);
  assert.equal(hub.config.entries.size, 0);
});
