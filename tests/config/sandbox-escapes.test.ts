import assert from 'node:assert/strict';
import { test } from 'vitest';
import { findSandboxEscape, findEngineSocket } from '../../hub/config/sandbox-escapes.ts';

const engineSocket = '/home/user/.engine/own.sock';

test.for([
  ['/var/run/docker.sock', /engine's socket/],
  ['/run/user/1000/podman.sock', /engine's socket/],
  ['/run', /engine's socket/],
  ['/run/user', /engine's socket/],
  ['/var/run', /engine's socket/],
  ['/var', /engine's socket/],
  ['/', /engine's socket/],
  [engineSocket, /engine's socket/],
  ['/home/user/.engine', /engine's socket/],
  ['/home', /engine's socket/],
  ['/var/lib', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/docker', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/docker/volumes/x/_data', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/containerd', /\/var\/lib\/containerd/],
  ['/proc/1/root', /\/proc/],
  ['/sys', /\/sys/],
  ['/dev/sda', /\/dev/],
  ['/var/lib/docker-data', undefined],
  ['/run/media/user/stick', undefined],
  ['/home/user/docs', undefined],
  ['/home/other', undefined],
  ['/devel', undefined],
  ['/etc', undefined],
] as const)('%s is refused: %s', async ([path, expected]) => {
  const reason = await findSandboxEscape(path, true, engineSocket);
  if (expected === undefined) assert.equal(reason, undefined);
  else assert.match(reason ?? '', expected);
});

test('all of /etc is for reading only, and a folder in it is as it is said', async () => {
  assert.match((await findSandboxEscape('/etc', false, undefined)) ?? '', /mount it read-only/);
  assert.equal(await findSandboxEscape('/etc/server', false, undefined), undefined);
});

test.for([
  ['unix:///home/user/engine.sock', '/home/user/engine.sock'],
  ['tcp://127.0.0.1:2375', undefined],
  [undefined, undefined],
] as const)('the socket of DOCKER_HOST=%s is %s', ([address, socket]) => {
  assert.equal(findEngineSocket({ DOCKER_HOST: address }), socket);
});
