import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  findSubnet,
  randomSubnet,
  subnetAt,
} from '../../../../hub/runtimes/docker/egress/subnets.ts';

test('the pool is divided into subnets for two hosts that do not overlap', () => {
  assert.deepEqual(subnetAt(0), {
    subnet: '10.213.0.0/30',
    forwarder: '10.213.0.1',
    server: '10.213.0.2',
  });
  assert.deepEqual(subnetAt(65), {
    subnet: '10.213.1.4/30',
    forwarder: '10.213.1.5',
    server: '10.213.1.6',
  });
  assert.equal(subnetAt(2 ** 14 - 1).subnet, '10.213.255.252/30');
  assert.ok(findSubnet(randomSubnet().subnet));
});

test.each([undefined, '', '10.213.0.0/29', '10.213.0.1/30', '10.214.0.0/30', '10.213.999.0/30'])(
  '%s is not a subnet of the pool',
  notation => {
    assert.equal(findSubnet(notation), undefined);
  },
);
