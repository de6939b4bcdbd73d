import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { z } from 'zod';
import {
  containerPath,
  isPlainPath,
  networkOf,
  ownLabels,
  ownName,
  rebuildBody,
  volumeLabels,
  words,
} from '../../hub/broker/schema.ts';
import { owner } from './bodies.ts';

test.each([
  ['/srv', true],
  ['/srv/a b/.hidden/...', true],
  ['', false],
  ['/', false],
  ['srv', false],
  ['./srv', false],
  ['/srv/', false],
  ['/srv//a', false],
  ['/srv/./a', false],
  ['/srv/..', false],
  ['/srv\0/a', false],
])('%j is a plain path: %s', (path, expected) => {
  assert.equal(isPlainPath(path), expected);
});

test.each([
  ['/data', true],
  ['/procfs', true],
  ['/data/proc', true],
  ['/proc', false],
  ['/sys/fs', false],
  ['/dev/shm', false],
  ['/data/../proc', false],
  [`/${'x'.repeat(4096)}`, false],
])('%j is a path where a mount may be: %s', (path, expected) => {
  assert.equal(containerPath.safeParse(path).success, expected);
});

test.each([
  [`${owner.hubName}-memory`, true],
  [`${owner.hubName}-`, true],
  [owner.hubName, false],
  [`x${owner.hubName}-memory`, false],
  [`${owner.hubName}-a/b`, false],
  [`${owner.hubName}-a\n`, false],
  [`${owner.hubName}-${'x'.repeat(255)}`, false],
])('%j is a name of an object of this hub: %s', (name, expected) => {
  assert.equal(ownName(owner).safeParse(name).success, expected);
});

test.each([
  [`${owner.hubName}-memory`, `${owner.hubName}-memory`],
  [`${owner.hubName}-.agent-writer`, 'agent-host-net-writer'],
  ['.agent-writer', '.agent-writer'],
])('%j may be in the network %j', (container, network) => {
  assert.equal(networkOf(container, owner), network);
});

describe('labels', () => {
  const marks = { 'io.agenthub.hub': owner.hubId, 'io.agenthub.managed': 'true' };

  test('of the hub are added where there are none', () => {
    assert.deepEqual(ownLabels(owner).parse(undefined), marks);
    assert.deepEqual(ownLabels(owner).parse({ 'io.agenthub.server': 'memory' }), {
      ...marks,
      'io.agenthub.server': 'memory',
    });
    const named = { ...marks, 'io.agenthub.name': owner.hubName };
    assert.deepEqual(volumeLabels(owner).parse(undefined), named);
  });

  test.each<[string, object]>([
    ['of another hub', { 'io.agenthub.hub': 'other' }],
    ['of an object that no hub manages', { 'io.agenthub.managed': 'false' }],
    ['of another compose project', { 'com.docker.compose.project': 'other' }],
    ['of a service of the compose file', { 'com.docker.compose.service': 'agenthub' }],
    ['of a one-off container', { 'com.docker.compose.oneoff': 'True' }],
    ['of a compose file', { 'com.docker.compose.project.config_files': '/etc/passwd' }],
    ['that other tools act on', { 'traefik.enable': 'true' }],
    ['with a NUL', { 'io.agenthub.server': 'a\0b' }],
  ])('%s are refused', (_, labels) => {
    assert.equal(ownLabels(owner).safeParse(labels).success, false);
  });

  test.each<[string, object]>([
    ['of another hub', { 'io.agenthub.name': 'other' }],
    ['of a container', { 'io.agenthub.server': 'memory' }],
  ])('of a volume: those %s are refused', (_, labels) => {
    assert.equal(volumeLabels(owner).safeParse(labels).success, false);
  });
});

describe('the body of a request', () => {
  const schema = z.strictObject({
    Size: z.int().optional(),
    Env: words.optional(),
    Cmd: words.optional(),
    Entrypoint: words.optional(),
    Host: z.strictObject({ Mode: z.literal('none') }).optional(),
    Mounts: z.array(z.strictObject({ Target: containerPath })).optional(),
  });
  const rebuild = (body: string) => rebuildBody(body, schema, 'a thing');

  test('is rebuilt from its fields', () => {
    const body = '{"Size":1,"Host":{"Mode":"none"}}';
    assert.deepEqual(rebuild(body), JSON.parse(body));
  });

  test.each([
    ['is not JSON', '{', 'a body of a thing that is not JSON'],
    ['is empty', '', 'a body of a thing that is not JSON'],
    ['has an unknown key', '{"Privileged":true}', 'the key "Privileged" in the body of a thing'],
    ['has a key in other letters', '{"size":1}', 'the key "size" in the body of a thing'],
    [
      'has an unknown key deep in it',
      '{"Host":{"Mode":"none","mode":1}}',
      'the key "Host.mode" in the body of a thing',
    ],
    [
      'has a bad value in a list',
      '{"Mounts":[{"Target":"/data"},{"Target":"/proc"}]}',
      '"Mounts.1.Target" of a thing with the value "/proc": must not lie in /proc, /sys or /dev',
    ],
    ['is a list', '[]', /^the body of a thing with the value \[\]: /],
    ['has a list for an object', '{"Host":[7]}', /^"Host" of a thing with the value \[7\]: /],
    [
      'has a long value',
      JSON.stringify({ Size: 'x'.repeat(1000) }),
      /^"Size" of a thing with the value "x{119}\.\.\.: /,
    ],
  ])('that %s is refused with the path of the field', (_, body, words) => {
    const begin = 'the broker does not admit ';
    assert.throws(
      () => rebuild(body),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'HUB_BROKER_REFUSED');
        assert.ok(error.message.startsWith(begin));
        const said = error.message.slice(begin.length);
        if (typeof words === 'string') assert.equal(said, words);
        else assert.match(said, words);
        return true;
      },
    );
  });

  test.each(['Env', 'Cmd', 'Entrypoint'])('is refused without showing the value of %s', key => {
    for (const value of ['secret', { secret: 'secret' }, ['secret\0'], ['ok', ['secret']]])
      assert.throws(
        () => rebuild(JSON.stringify({ [key]: value })),
        (error: Error) => {
          assert.match(error.message, new RegExp(`"${key}[.\\d]*" of a thing: `));
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
  });
});
