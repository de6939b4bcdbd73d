import assert from 'node:assert/strict';
import { test } from 'vitest';
import { randomSubnet } from './egress-subnets.ts';

const drawn = (own: string[]) => Array.from({ length: 500 }, () => randomSubnet('public', own));

test('subnets of the tests overlap no network of the machine', () => {
  const whole = drawn(['127.0.0.1/8', '192.0.2.2/24']);
  assert.ok(whole.every(subnet => !subnet.startsWith('192.0.2.')));
  assert.ok(whole.some(subnet => subnet.startsWith('198.51.100.')));
  const part = drawn(['192.0.2.36/30']);
  assert.ok(!part.includes('192.0.2.32/28'));
  assert.ok(part.includes('192.0.2.16/28'));
});

test('subnets are found on a machine whose network is as wide as all of them', () => {
  const subnet = randomSubnet('private', ['10.214.7.9/8']);
  assert.match(subnet, /^10\.214\./);
  assert.notEqual(subnet, '10.214.7.0/28');
});
