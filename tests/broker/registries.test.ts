import assert from 'node:assert/strict';
import { test } from 'vitest';
import { checkRegistry } from '../../hub/broker/registries.ts';

const registries = ['docker.io', 'ghcr.io', 'registry.example:5000'];

test.each([
  'node',
  'library/node',
  'docker.io/library/node',
  'index.docker.io/library/node',
  'mcp/github',
  'agenthub/server',
  'ghcr.io/agenthub/git',
  'ghcr.io/github/github-mcp-server',
  'registry.example:5000/a/b',
])('an image from a listed registry is pulled: %s', image => {
  assert.doesNotThrow(() => checkRegistry(image, registries));
});

test.each([
  ['evil.example/node', 'evil.example'],
  ['ghcr.io.evil.example/x', 'ghcr.io.evil.example'],
  ['ghcr.io:443/x', 'ghcr.io:443'],
  ['registry.example/x', 'registry.example'],
  ['localhost/x', 'localhost'],
  ['localhost:5000/x', 'localhost:5000'],
  ['EVIL/x', 'evil'],
  ['127.0.0.1/x', '127.0.0.1'],
])('%s is not pulled, as %s is not on the list', (image, registry) => {
  assert.throws(() => checkRegistry(image, registries), {
    code: 'HUB_BROKER_REFUSED',
    message: new RegExp(
      `a pull from "${registry.replaceAll('.', '\\.')}", which is none of docker\\.io, ghcr\\.io, .* Add it to AGENTHUB_REGISTRIES`,
    ),
  });
});

test.each([
  'agenthub/git',
  'agenthub/agent:0123456789ab',
  'docker.io/agenthub/egress',
  'index.docker.io/agenthub/ollama-mcp:0123456789ab',
  'agenthub/npm-memory',
  'agenthub/python-time:1.0-0123456789ab',
  'agenthub/system-node',
  'agenthub/build-mine',
])('%s is not pulled, as hubs build images of that name', image => {
  assert.throws(() => checkRegistry(image, registries), {
    code: 'HUB_BROKER_REFUSED',
    message: `the broker does not admit a pull of "${image}": hubs build images of this name. Give yours another one`,
  });
});
