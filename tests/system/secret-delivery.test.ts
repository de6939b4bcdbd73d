import assert from 'node:assert/strict';
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { createRecordingLog } from '#helpers/recording-log';
import type { DockerTarget, Instance, LaunchSpec } from '#runtimes';
import {
  answering,
  askerOf,
  createHub,
  docker,
  factOf,
  nodeImage,
  script,
  until,
} from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';
import { placesOf } from './places-of-secrets.ts';

const signal = AbortSignal.timeout(120_000);
const events = { stderr() {}, progress() {} };

/** Answers with the digest of each variable, so that no value is written anywhere. */
const digesting = answering(
  `() => Object.fromEntries(Object.entries(process.env).map(([name, value]) =>
    [name, require('node:crypto').hash('sha256', value)]))`,
);
const digestsOf = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, hash('sha256', value)]));

const values = {
  API_TOKEN: `token/${randomUUID()}+?&="'`,
  LINES: `-----BEGIN-----\n${randomUUID()}\n-----END-----\n`,
  WINDOWS: `${randomUUID()}\r\n${randomUUID()}`,
  EMPTY: '',
  WORDS: `ünï-🦊 ${randomUUID()} \\n $HOME`,
  LONG: randomBytes(75_000).toString('base64'),
};

type Hub = ReturnType<typeof createHub>;
const specWith = (
  hub: Hub,
  target: Partial<DockerTarget>,
  secrets: LaunchSpec['env'] = values,
  others: LaunchSpec['env'] = {},
): LaunchSpec => ({
  ...hub.spec('keeper', target, { ...others, ...secrets }),
  secretEnv: Object.keys(secrets),
});

async function received(instance: Instance): Promise<Record<string, unknown>> {
  const answer = await askerOf(instance).ask('digests');
  assert.ok(typeof answer === 'object' && answer !== null);
  return { ...answer };
}

const pick = (found: Record<string, unknown>, names: object) =>
  Object.fromEntries(Object.keys(names).map(name => [name, found[name]]));

describeWithEngine('the secrets of a server in a container', () => {
  const shellless = `test-shellless:${process.pid}`;

  beforeAll(async () => {
    const made = await docker.createContainer({
      Image: nodeImage,
      User: '0:0',
      Entrypoint: ['/bin/rm'],
      Cmd: ['/bin/sh', '/bin/dash', '/bin/bash'],
    });
    await made.start();
    await made.wait();
    const [repo, tag] = shellless.split(':');
    await made.commit({ repo, tag, changes: 'ENTRYPOINT ["node"]' });
    await made.remove();
  }, 60_000);

  afterAll(async () => {
    await docker.getImage(shellless).remove();
  });

  test('reach it exactly as they are, and are found nowhere else', async () => {
    await using hub = createHub();
    const spec = { ...specWith(hub, digesting, values, { PLAIN: 'x' }), digest: 'keyed' };
    const instance = await hub.launch(spec);
    assert.equal(instance.secrets, 'stdin');
    const found = await received(instance);
    assert.deepEqual(pick(found, { ...values, PLAIN: '' }), digestsOf({ ...values, PLAIN: 'x' }));
    const { EMPTY: _, ...searched } = values;
    // The search must find HOME, a value that is in the environment.
    const all = { ...searched, HOME: '/home/mcp' };
    const places = await placesOf(all, factOf(instance, 'containerId'));
    assert.ok(places.includes('inspect: HOME (plain)'), places.join());
    assert.deepEqual(
      places.filter(place => !place.includes(': HOME (')),
      [],
    );
    await instance.stop({ graceMs: 1000 });
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('reach the entrypoint of its image, with its arguments', async () => {
    await using hub = createHub();
    const { args = [] } = digesting;
    const spec = specWith(hub, { args: ['node', ...args] });
    const instance = await hub.launch(spec);
    assert.equal(instance.secrets, 'stdin');
    assert.deepEqual(pick(await received(instance), values), digestsOf(values));
    // docker-entrypoint.sh, the entrypoint of the image, is in the command line of a process.
    const top = await docker.getContainer(factOf(instance, 'containerId')).top();
    assert.match(JSON.stringify(top.Processes), /docker-entrypoint\.sh/);
  });

  test('are in its environment where its image has no shell, which is logged once', async () => {
    const { log, logged } = createRecordingLog();
    await using hub = createHub({ log });
    const { args = [] } = digesting;
    const spec = specWith(hub, { image: { reference: shellless }, args });
    for (const round of [1, 2]) {
      const instance = await hub.launch(spec);
      assert.equal(instance.secrets, 'environment', `round ${round}`);
      assert.deepEqual(pick(await received(instance), values), digestsOf(values));
      await instance.stop({ graceMs: 1000 });
    }
    const warnings = logged.filter(({ message }) => /has no shell/.test(message));
    assert.deepEqual(
      warnings.map(({ fields }) => fields),
      [{ server: 'keeper', image: shellless }],
    );
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('are still there when the next hub adopts it, and nothing is sent again', async () => {
    const proxy = await createProxy();
    const hub = createHub({ dockerHost: proxy.host });
    const spec = { ...specWith(hub, digesting), digest: 'as it was' };
    const instance = await hub.launch(spec);
    await received(instance);
    const handle = (await instance.handle?.()) ?? '';
    await proxy.away();
    assert.equal((await instance.exited).lost, true);

    await using next = createHub({ hubId: hub.id, isAwaited: id => handle.startsWith(id) });
    await next.runtime.start(signal);
    const adopted = await next.runtime.adopt?.(spec, handle, events, signal);
    assert.ok(adopted);
    assert.equal(adopted.secrets, 'stdin');
    // The server parses each line that it is sent, so a second line of secrets would end it.
    assert.deepEqual(pick(await received(adopted), values), digestsOf(values));
    await adopted.stop({ graceMs: 1000 });
    await proxy.back();
    await hub[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });

  test('change nothing in the error of a server that ends at once', async () => {
    await using hub = createHub();
    const dying = script(`console.error('no licence'); process.exit(3)`);
    const instance = await hub.launch(specWith(hub, dying));
    assert.deepEqual(await instance.exited, { code: 3, detail: 'exited with code 3' });
    await until('its last words', () => hub.lines.stderr.length > 0);
    assert.deepEqual(hub.lines.stderr, ['no licence']);
    const absent = await hub.launch(specWith(hub, { command: 'no-such-program' }));
    assert.deepEqual(await absent.exited, {
      code: 127,
      detail: 'exited with code 127: its command is not in the image, or cannot be run there',
    });
    const said = [...hub.lines.stderr, ...hub.lines.progress].join('\n');
    for (const value of Object.values(values))
      assert.ok(value === '' || !said.includes(value.trim()));
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('reach as many instances at the same time as there are', async () => {
    await using hub = createHub();
    const instances = await Promise.all(
      ['1', '2', '3', 'probe'].map(instance => {
        const secrets = { WHO: `${instance} ${randomUUID()}` };
        return hub
          .launch({ ...specWith(hub, digesting, secrets), instance })
          .then(launched => ({ launched, secrets }));
      }),
    );
    for (const { launched, secrets } of instances)
      assert.deepEqual(pick(await received(launched), secrets), digestsOf(secrets));
  });

  test('are sent again to the instance that replaces it', async () => {
    await using hub = createHub();
    const containers = new Set<string>();
    for (const TOKEN of ['first', 'second']) {
      const instance = await hub.launch(specWith(hub, digesting, { TOKEN }));
      assert.deepEqual(pick(await received(instance), { TOKEN }), digestsOf({ TOKEN }));
      containers.add(factOf(instance, 'containerId'));
      await instance.stop({ graceMs: 1000 });
    }
    assert.equal(containers.size, 2);
  });
});
