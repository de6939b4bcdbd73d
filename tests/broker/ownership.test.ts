import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkVolume, ownVolumes } from '../../hub/broker/ownership.ts';

const hub = { hubId: 'id-1', hubName: 'agenthub' };
const managed = { 'io.agenthub.managed': 'true' };
const ours = { ...managed, 'io.agenthub.hub': 'id-1' };

const engineOf = (status: number, body?: unknown) => ({
  getJson: async () => ({ status, body }),
});

describe('a volume', () => {
  const check = (status: number, body?: unknown) =>
    checkVolume(engineOf(status, body), 'agenthub-data', hub);

  test.each([
    ['that does not exist', 404, undefined],
    ['with the id of the hub', 200, { Labels: ours, Driver: 'local', Options: null }],
    [
      'with the name of the hub, under an older id',
      200,
      {
        Labels: { ...managed, 'io.agenthub.hub': 'before', 'io.agenthub.name': 'agenthub' },
        Driver: 'local',
        Options: {},
      },
    ],
  ])('%s is admitted', async (_, status, body) => {
    await check(status, body);
  });

  test.each([
    ['without labels', { Driver: 'local' }, /was not made for a server/],
    [
      'that is not managed',
      { Labels: { 'io.agenthub.hub': 'id-1' }, Driver: 'local' },
      /was not made for a server/,
    ],
    [
      'of another hub',
      { Labels: { ...managed, 'io.agenthub.name': 'other' }, Driver: 'local' },
      /belongs to the hub "other"/,
    ],
    [
      'with options of its driver',
      { Labels: ours, Driver: 'local', Options: { type: 'none', device: '/' } },
      /has options of its driver/,
    ],
    ['of another driver', { Labels: ours, Driver: 'nfs' }, /has options of its driver/],
  ])('%s is refused', async (_, body, message) => {
    await assert.rejects(check(200, body), { code: 'HUB_BROKER_REFUSED', message });
  });

  test('is refused where the engine fails', async () => {
    await assert.rejects(check(500), { code: 'HUB_BROKER_REFUSED' });
  });
});

test("the sizes of the hub's own volumes are returned, and no others", async () => {
  const volumes = [
    { Name: 'a', Labels: ours, UsageData: { Size: 1 } },
    { Name: 'b', Labels: { ...managed, 'io.agenthub.name': 'agenthub' }, UsageData: { Size: 2 } },
    { Name: 'c', Labels: { ...managed, 'io.agenthub.hub': 'other' }, UsageData: { Size: 3 } },
    { Name: 'd', Labels: null, UsageData: { Size: 4 } },
  ];
  const found = await ownVolumes(engineOf(200, { Volumes: volumes }), hub);
  assert.deepEqual(
    found.map(({ Name }) => Name),
    ['a', 'b'],
  );
});
