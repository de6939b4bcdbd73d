import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { configOf } from '#helpers/hub';
import { confirmationsFor, requireConfirmed } from '../../hub/installs/confirmation.ts';

const settings = [
  { name: 'network:bridge', message: 'It can reach the network.' },
  { name: 'user:0:0', message: 'It runs as root.' },
];

function refusalOf(confirmed: readonly string[], asked = settings): HubError | undefined {
  try {
    requireConfirmed('one', asked, confirmed);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof HubError);
    return error;
  }
}

test('an entry is installed if all of its settings are confirmed, in any order', () => {
  assert.equal(refusalOf(['user:0:0', 'network:bridge']), undefined);
  assert.equal(refusalOf([], []), undefined);
});

test('a setting that is not confirmed is named, with what it lets the server do', () => {
  const refusal = refusalOf(['network:bridge']);
  assert.equal(refusal?.code, 'HUB_CONFIRMATION_NEEDED');
  assert.deepEqual(refusal.message.split('\n'), [
    'one asks for more than the default sandbox, and these are not confirmed:',
    '  user:0:0: It runs as root.',
    'Nothing was begun. To install it, send the request again with "confirm": ["network:bridge","user:0:0"]',
  ]);
  const { server, missing, unknown, loosenings } = refusal.data;
  assert.deepEqual(
    { server, missing, unknown, loosenings },
    { server: 'one', missing: ['user:0:0'], unknown: [], loosenings: settings },
  );
});

test('a confirmation of a setting that the entry does not have is refused', () => {
  const refusal = refusalOf(['network:bridge', 'user:0:0', 'mount:/:/x:rw']);
  assert.deepEqual(refusal?.message.split('\n'), [
    '"confirm" names "mount:/:/x:rw", which the entry of one does not have',
    'Nothing was begun. To install it, send the request again with "confirm": ["network:bridge","user:0:0"]',
  ]);
  assert.deepEqual(refusal.data['missing'], []);
  assert.deepEqual(refusal.data['unknown'], ['mount:/:/x:rw']);
});

test('a long name in the request is shortened in the message', () => {
  const refusal = refusalOf(['x'.repeat(5_000)], []);
  assert.match(String(refusal?.message), /^"confirm" names "x{59}\.\.\., which the entry of one/);
});

test('a setting that needs no confirmation is not required in the request', () => {
  const config = configOf({ name: 'far', url: 'https://far.test/mcp' });
  assert.ok(config.launch.kind === 'remote');
  const launch = { ...config.launch, headers: { Authorization: 's3cret' } };
  const entry = { url: 'https://far.test/mcp', headers: { Authorization: '${TOKEN}' } };
  assert.deepEqual(
    confirmationsFor(entry, { ...config, launch }, []).map(({ name }) => name),
    ['variable:TOKEN'],
  );
});
