import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { parseAddress } from '../../../../hub/runtimes/docker/engine/address.ts';

for (const [text, expected] of [
  ['unix:///run/docker.sock', { socketPath: '/run/docker.sock' }],
  ['npipe:////./pipe/docker_engine', { socketPath: '//./pipe/docker_engine' }],
  ['tcp://10.0.0.1:2375', { host: '10.0.0.1', port: 2375, protocol: 'http' }],
  ['tcp://engine', { host: 'engine', port: 2375, protocol: 'http' }],
  ['tcp://engine:2376', { host: 'engine', port: 2376, protocol: 'https' }],
  ['https://engine', { host: 'engine', port: 2376, protocol: 'https' }],
] as const)
  test(`DOCKER_HOST ${text} is read`, () => {
    assert.deepEqual(parseAddress(text), { text, connect: expected });
  });

test('without DOCKER_HOST the default of the platform is used', () => {
  assert.match(parseAddress(undefined).text, /^(unix|npipe):\/\/.*docker/);
});

for (const text of ['ssh://me@host', 'docker.sock', 'tcp://', 'unix://'])
  test(`DOCKER_HOST ${text} is refused with the allowed forms`, () => {
    assert.throws(
      () => parseAddress(text),
      (error: unknown) =>
        error instanceof HubError &&
        error.code === 'HUB_LAUNCH_INVALID' &&
        error.message.includes(`DOCKER_HOST is "${text}". Write unix:///path`),
    );
  });
