import assert from 'node:assert/strict';
import { test } from 'vitest';
import { composeLabelsOf, labelsOf } from '../../../../hub/runtimes/docker/container/labels.ts';

const owner = { hubId: 'id-1', hubName: 'agenthub' };

test('a shared instance without a digest has the labels of its server only', () => {
  assert.deepEqual(labelsOf(owner, { server: 'memory' }), {
    'io.agenthub.hub': 'id-1',
    'io.agenthub.server': 'memory',
    'io.agenthub.managed': 'true',
  });
});

test('an instance of a session with a digest has both', () => {
  assert.deepEqual(labelsOf(owner, { server: 'memory', instance: '2', digest: 'd' }), {
    'io.agenthub.hub': 'id-1',
    'io.agenthub.server': 'memory',
    'io.agenthub.instance': '2',
    'io.agenthub.digest': 'd',
    'io.agenthub.managed': 'true',
  });
});

test.each([
  [undefined, '1'],
  ['1', '2'],
  ['41', '42'],
  ['volumes', '0'],
])('the container of instance %s has number %s in its compose project', (instance, number) => {
  const labels = composeLabelsOf(owner, { server: 'memory', ...(instance && { instance }) });
  assert.equal(labels['com.docker.compose.container-number'], number);
  assert.equal(labels['com.docker.compose.project'], 'agenthub');
  assert.equal(labels['com.docker.compose.service'], 'mcp-memory');
});
