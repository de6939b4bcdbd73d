import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import type { LaunchSpec } from '#runtimes';
import { createParts } from '../../../../hub/runtimes/docker/parts.ts';
import { deliveryOf } from '../../../../hub/runtimes/docker/secrets/delivery.ts';
import { imagesDir, specOf } from '../hub.ts';
import { containerInfo, scriptEngine } from '../scripted-engine.ts';

const image = {
  reference: 'some/image:1',
  id: 'sha256:1',
  user: '1000',
  volumes: [],
  entrypoint: ['/entry'],
  command: ['serve'],
  env: [],
};
const spec: LaunchSpec = {
  ...specOf(
    'files',
    { image: { reference: 'some/image:1' }, network: 'bridge' },
    { TOKEN: 'hush' },
  ),
  secretEnv: ['TOKEN'],
};

/** Creates an engine on which the containers that test an image's shell exit with these codes, in order. */
async function open(...codes: readonly (number | 'removed')[]) {
  const left = [...codes];
  const engine = await scriptEngine({
    'POST /containers/create': { status: 201, body: { Id: 'c' } },
    'POST /containers/c/start': { status: 204 },
    'POST /containers/c/wait': { body: { StatusCode: 0 } },
    'GET /containers/c/json': () => {
      const ExitCode = left.shift();
      if (ExitCode === 'removed') return { status: 404 };
      return { body: containerInfo('c', 'hub-files.shell', {}, { Running: false, ExitCode }) };
    },
    'DELETE /containers/c': { status: 204 },
  });
  const { log, logged } = createRecordingLog();
  const parts = createParts(
    { hubId: 'id', hubName: 'hub', dockerHost: engine.host, imagesDir },
    { clock: createManualClock(), log, isAwaited: () => false },
  );
  return {
    calls: engine.calls,
    lines: engine.lines,
    names: parts.names,
    logged,
    plan: (given = spec, of = image) => {
      assert.ok(given.target.kind === 'docker');
      return parts.secretDelivery.plan(given, given.target, of);
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const trial = [
  'POST /containers/create',
  'POST /containers/c/start',
  'POST /containers/c/wait',
  'GET /containers/c/json',
  'DELETE /containers/c',
];

describe('an image with a shell', () => {
  test('gets secrets by its stdin, and its shell is tested once, without them', async () => {
    await using scene = await open(0);
    const [first, second] = await Promise.all([scene.plan(), scene.plan()]);
    assert.equal(first.secrets, 'stdin');
    assert.equal(second.secrets, 'stdin');
    assert.deepEqual(first.spec.env, {});
    assert.equal(first.line?.toString(), 'TOKEN=hush\n');
    assert.deepEqual(scene.lines(), trial);
    assert.deepEqual(scene.logged, []);
    const [created] = scene.calls;
    assert.equal(created?.query['name'], 'hub-files.shell');
    const text = JSON.stringify(created.body);
    assert.match(text, /"Entrypoint":\["\/bin\/sh"\]/);
    assert.match(text, /"NetworkMode":"none"/);
    assert.doesNotMatch(text, /TOKEN|hush/);
    assert.equal(scene.names.has('hub-files.shell'), false);
  });

  test('is tested again if it has changed', async () => {
    await using scene = await open(0, 0);
    await scene.plan();
    await scene.plan(spec, { ...image, id: 'sha256:2' });
    assert.equal(scene.lines().length, 2 * trial.length);
  });

  test('is not tested for a server without secrets, nor if the hub has built the image', async () => {
    await using scene = await open();
    const { secretEnv: _, ...plain } = spec;
    assert.deepEqual(await scene.plan(plain), { spec: plain, target: plain.target });
    const target = { package: { ecosystem: 'npm', spec: 'x@1' } } as const;
    assert.ok(spec.target.kind === 'docker');
    const planned = await scene.plan({ ...spec, target: { ...spec.target, image: target } });
    assert.equal(planned.secrets, 'stdin');
    assert.deepEqual(scene.lines(), []);
  });
});

describe('an image without a usable shell', () => {
  test.each([
    ['has none', 127],
    ['has one that cannot be executed', 126],
    ['has one that would write secrets into the list of processes', 64],
  ])('gets them in its environment, which is logged once: it %s', async (_, code) => {
    await using scene = await open(code);
    for (const planned of [await scene.plan(), await scene.plan()])
      assert.deepEqual(planned, { spec, target: spec.target, secrets: 'environment' });
    assert.deepEqual(
      scene.logged.map(({ level, fields }) => ({ level, fields })),
      [{ level: 'warn', fields: { server: 'files', image: 'some/image:1' } }],
    );
    assert.deepEqual(scene.lines(), trial);
  });

  test('is refused a variable with more bytes than Linux allows', async () => {
    await using scene = await open(127);
    const env = { TOKEN: 'x'.repeat(200_000) };
    await assert.rejects(scene.plan({ ...spec, env }), { code: 'HUB_LAUNCH_INVALID' });
    assert.deepEqual(scene.lines(), []);
  });
});

test.each<[string, number | 'removed', RegExp]>([
  ['was killed', 137, /could not be tried: ended by SIGKILL/],
  ['failed otherwise', 2, /could not be tried: exited with code 2/],
  ['was removed', 'removed', /could not be tried: removed by someone else/],
])('a shell that %s during its test gets no secrets', async (_, code, message) => {
  await using scene = await open(code, 0);
  await assert.rejects(scene.plan(), { code: 'HUB_SERVER_START_FAILED', message });
  assert.equal((await scene.plan()).secrets, 'stdin', 'it is tried again');
  assert.deepEqual(scene.lines().slice(trial.length), trial);
});

test('the command line of a running container shows how it got its secrets', async () => {
  await using scene = await open(0);
  const { target } = await scene.plan();
  const words = [target.command ?? '', ...target.args];
  assert.equal(deliveryOf(spec, words), 'stdin');
  assert.equal(deliveryOf(spec, ['/entry', 'serve']), 'environment');
  assert.equal(deliveryOf({ ...spec, secretEnv: [] }, words), undefined);
  assert.equal(deliveryOf(specOf('files', {}), words), undefined);
});
