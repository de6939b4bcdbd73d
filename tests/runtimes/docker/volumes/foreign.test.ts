import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { refuseForeignVolumes } from '../../../../hub/runtimes/docker/volumes/foreign.ts';

const owner = { hubId: 'id', hubName: 'agenthub' };
const target = { volumes: [{ name: 'test-data', target: '/data' }] };

/** Examines a launch on an engine with one volume, `agenthub-test-data`. */
const examine = async (labels: Readonly<Record<string, string>> | undefined) =>
  await refuseForeignVolumes({ server: 'memory' }, target, {
    engine: {
      findVolume: async name => (name === 'agenthub-test-data' && labels ? { labels } : undefined),
    },
    owner,
  });

test('a server does not get a volume of another hub, whose name begins like that of this one', async () => {
  const labels = {
    'io.agenthub.managed': 'true',
    'io.agenthub.hub': 'another',
    'io.agenthub.name': 'agenthub-test',
  };
  await assert.rejects(examine(labels), {
    code: 'HUB_LAUNCH_INVALID',
    message:
      'memory: the volume agenthub-test-data belongs to the hub agenthub-test. Choose another name than "test-data" in "volumes", or give this hub another HUB_NAME',
  });
});

describe('a server gets a volume', () => {
  test.for([
    ['that does not exist yet', undefined],
    ['of this hub', { 'io.agenthub.hub': 'id', 'io.agenthub.name': 'agenthub' }],
    ['of this hub, which had another name', { 'io.agenthub.hub': 'id', 'io.agenthub.name': 'old' }],
    ['of a hub of the same name', { 'io.agenthub.hub': 'old', 'io.agenthub.name': 'agenthub' }],
    ['of an earlier version, without the name of a hub', { 'io.agenthub.hub': 'old' }],
    ['that a person created', {}],
  ] as const)('%s', async ([, labels]) => {
    await examine(labels);
  });
});
