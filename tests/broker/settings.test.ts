import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readBrokerOptions } from '#broker';

test('HUB_ID is the only required setting', () => {
  assert.deepEqual(readBrokerOptions({ HUB_ID: 'compose-agenthub' }, 'images'), {
    socketPath: '/run/agenthub/docker.sock',
    enginePath: '/var/run/docker.sock',
    hubId: 'compose-agenthub',
    hubName: 'agenthub',
    agentNetwork: 'agent-host-net',
    mountRoots: [],
    registries: [
      'docker.io',
      'ghcr.io',
      'quay.io',
      'mcr.microsoft.com',
      'registry.gitlab.com',
      'public.ecr.aws',
    ],
    imagesDir: 'images',
  });
});

test('registries are separated by commas, and replace the defaults', () => {
  const env = { HUB_ID: 'a', BROKER_REGISTRIES: 'Registry.example:5000, ghcr.io' };
  assert.deepEqual(readBrokerOptions(env, '').registries, ['registry.example:5000', 'ghcr.io']);
});

test('roots are separated by commas', () => {
  const { mountRoots } = readBrokerOptions({ HUB_ID: 'a', BROKER_MOUNT_ROOTS: '/srv, /data,' }, '');
  assert.deepEqual(mountRoots, ['/srv', '/data']);
});

test.each([
  ['HUB_ID', undefined, /HUB_ID is not set\. Set it to /],
  ['HUB_ID', 'a"b', /HUB_ID is "a\\"b"\. Set it to /],
  ['HUB_NAME', 'A', /HUB_NAME is "A"/],
  ['BROKER_SOCKET', 'docker.sock', /BROKER_SOCKET is "docker\.sock"/],
  [
    'BROKER_REGISTRIES',
    'https://ghcr.io',
    /AGENTHUB_REGISTRIES.*"https:\/\/ghcr\.io" is not a reg/,
  ],
  ['DOCKER_NETWORK', 'a b', /DOCKER_NETWORK is "a b"/],
  ['DATA_VOLUME', '../x', /DATA_VOLUME is "\.\.\/x"/],
  ['DOCKER_SOCKET', 'unix:///x', /DOCKER_SOCKET is "unix:\/\/\/x"/],
])('%s is refused: %s', (name, value, message) => {
  assert.throws(() => readBrokerOptions({ HUB_ID: 'a', [name]: value }, ''), {
    code: 'HUB_CONFIG_INVALID',
    message,
  });
});
