import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import {
  createContainer,
  createNetwork,
  toLaunchError,
} from '../../../../hub/runtimes/docker/container/create.ts';
import { EngineError, toHubError } from '../../../../hub/runtimes/docker/engine/errors.ts';
import { specOf } from '../hub.ts';
import { type Scripted, containerInfo, scriptEngine } from '../scripted-engine.ts';

const owner = { hubId: 'id', hubName: 'hub' };
const spec = specOf('memory', {});
const name = 'hub-memory';
const ours = { 'io.agenthub.hub': 'id', 'io.agenthub.managed': 'true' };

const created: Scripted = { status: 201, body: { Id: 'new' } };
const refuse = (status: number, message: string): Scripted => ({ status, body: { message } });
const inUse = refuse(409, 'Conflict. The name is in use.');

/** Returns these answers in order, and then the last one again and again. */
function inTurn(...answers: readonly Scripted[]) {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? assert.fail();
}

type Script = Parameters<typeof scriptEngine>[0];
const containerOf = (script: Script) =>
  made(script, needs => createContainer(name, {}, spec, needs));
const networkOf = (script: Script) => made(script, needs => createNetwork(spec, needs, undefined));

async function made(
  script: Script,
  create: (needs: Parameters<typeof createNetwork>[1]) => Promise<string>,
) {
  await using scene = await scriptEngine(script, systemClock);
  const { engine } = scene;
  const removeNetwork = (id: string) => engine.removeNetwork(id);
  const result = await create({ engine, log: silent, owner, removeNetwork });
  return { result, lines: scene.lines(), calls: scene.calls };
}

describe('a container', () => {
  test('is created with one call if its name is free', async () => {
    const { result, lines } = await containerOf({ 'POST /containers/create': created });
    assert.equal(result, 'new');
    assert.deepEqual(lines, ['POST /containers/create']);
  });

  test('replaces one of an earlier run, once that is removed', async () => {
    const { result, lines, calls } = await containerOf({
      'POST /containers/create': inTurn(inUse, created),
      [`GET /containers/${name}/json`]: { body: containerInfo('old', name, ours) },
      'DELETE /containers/old': { status: 204 },
      'POST /containers/old/wait': { body: { StatusCode: 137 } },
    });
    assert.equal(result, 'new');
    assert.deepEqual(lines, [
      'POST /containers/create',
      `GET /containers/${name}/json`,
      'DELETE /containers/old',
      'POST /containers/old/wait',
      'POST /containers/create',
    ]);
    // Waits for the removal, not the exit: a container that another removal still handles keeps its name after it
    // exits.
    assert.deepEqual(calls[3]?.query, { condition: 'removed' });
  });

  test('is retried if the other one of its name has disappeared', async () => {
    const { lines } = await containerOf({ 'POST /containers/create': inTurn(inUse, created) });
    assert.deepEqual(lines.slice(1), [`GET /containers/${name}/json`, 'POST /containers/create']);
  });

  test('is refused if the name stays in use', async () => {
    await assert.rejects(containerOf({ 'POST /containers/create': inUse }), {
      code: 'HUB_CONTAINER_NAME_TAKEN',
      message: 'Conflict. The name is in use.',
    });
  });

  test.each<[string, Record<string, string>, string]>([
    ['another hub', { 'io.agenthub.hub': 'x' }, 'another hub (io.agenthub.hub=x)'],
    ['a hub without an id', { 'io.agenthub.managed': 'true' }, 'another hub'],
    ['a compose project', { 'com.docker.compose.project': 'shop' }, 'the compose project "shop"'],
    ['someone', {}, 'something that no hub made'],
  ])('of %s is not replaced, and its owner is named', async (_, labels, maker) => {
    const old = containerInfo('0123456789abcdef', name, labels);
    await assert.rejects(
      containerOf({
        'POST /containers/create': inUse,
        [`GET /containers/${name}/json`]: { body: old },
      }),
      {
        code: 'HUB_CONTAINER_NAME_TAKEN',
        message:
          `the container name ${name} is taken by ${maker} (image node:24, id 0123456789ab). ` +
          'Give this hub a HUB_NAME of its own, rename the server, or remove the other object',
      },
    );
  });

  test('that the broker does not show is not replaced', async () => {
    await assert.rejects(
      containerOf({
        'POST /containers/create': inUse,
        [`GET /containers/${name}/json`]: refuse(403, 'no'),
      }),
      {
        code: 'HUB_CONTAINER_NAME_TAKEN',
        message: /taken by something that this hub has not made/,
      },
    );
  });

  test('is not replaced if the engine fails to say whose it is', async () => {
    await assert.rejects(
      containerOf({
        'POST /containers/create': inUse,
        [`GET /containers/${name}/json`]: refuse(500, 'broken'),
      }),
      { code: 'HUB_ENGINE_REFUSED', message: /inspect the container hub-memory: broken/ },
    );
  });
});

describe('the network of a server', () => {
  const body = { Id: 'net', Name: name, Labels: ours };

  test('is created under the name of its container', async () => {
    const { result, lines } = await networkOf({ 'POST /networks/create': created });
    assert.equal(result, name);
    assert.deepEqual(lines, ['POST /networks/create']);
  });

  test('replaces a leftover one, after the container in it', async () => {
    const { lines } = await networkOf({
      'POST /networks/create': inTurn(inUse, created),
      [`GET /networks/${name}`]: { body },
      [`GET /containers/${name}/json`]: { body: containerInfo('old', name, ours) },
      'DELETE /containers/old': { status: 204 },
      'POST /containers/old/wait': { body: {} },
      'DELETE /networks/net': { status: 204 },
    });
    assert.deepEqual(
      lines.filter(line => !line.startsWith('GET')),
      [
        'POST /networks/create',
        'DELETE /containers/old',
        'POST /containers/old/wait',
        'DELETE /networks/net',
        'POST /networks/create',
      ],
    );
  });

  test('of another hub is not touched, and neither is its container', async () => {
    const calls = networkOf({
      'POST /networks/create': inUse,
      [`GET /networks/${name}`]: { body: { ...body, Labels: {} } },
      'DELETE /containers/old': () => assert.fail('it is not ours'),
    });
    await assert.rejects(calls, {
      code: 'HUB_CONTAINER_NAME_TAKEN',
      message: new RegExp(
        `^the network name ${name} is taken by something that no hub made\\. Give`,
      ),
    });
  });

  test('fails with the message of the engine for any other reason', async () => {
    const exhausted = refuse(500, 'all predefined address pools have been fully subnetted');
    await assert.rejects(networkOf({ 'POST /networks/create': exhausted }), {
      code: 'HUB_ENGINE_REFUSED',
      message: /fully subnetted/,
    });
  });
});

describe('a refusal to start a server', () => {
  const error = (status: number, words: string) =>
    new EngineError(status, words, 'start', undefined);
  const invalid = (words: string) => `memory cannot be started as it is configured: ${words}`;

  test.each([
    [404, 'No such image: x:1', 'HUB_IMAGE_MISSING', 'memory: No such image: x:1'],
    [400, 'bad parameter', 'HUB_LAUNCH_INVALID', invalid('bad parameter')],
    [500, 'OCI runtime create failed', 'HUB_LAUNCH_INVALID', invalid('OCI runtime create failed')],
    [
      500,
      'unable to find user nobody',
      'HUB_LAUNCH_INVALID',
      invalid('unable to find user nobody'),
    ],
    [404, 'exec: executable file not found', 'HUB_LAUNCH_INVALID', /as it is configured: exec/],
    [
      400,
      'invalid mount config for type "bind": bind source path does not exist: /srv/x',
      'HUB_LAUNCH_INVALID',
      /^memory mounts \/srv\/x, which does not exist on the engine's machine/,
    ],
    [500, 'no space left on device', 'HUB_ENGINE_REFUSED', /no space left/],
    [404, 'No such container', 'HUB_ENGINE_REFUSED', /No such container/],
  ])('with %d "%s" is %s', (status, words, code, message) => {
    const given = error(status, words);
    const found = toLaunchError(given, spec);
    assert.ok(found instanceof HubError);
    assert.equal(found.code, code);
    if (typeof message === 'string') assert.equal(found.message, message);
    else assert.match(found.message, message);
    if (code !== 'HUB_ENGINE_REFUSED') assert.equal(found.cause, given);
  });

  test('that is another error is passed on unchanged', () => {
    for (const other of [toHubError(new Error('x'), 'start', 'here'), new TypeError('bug')])
      assert.equal(toLaunchError(other, spec), other);
  });
});
