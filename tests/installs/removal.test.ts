import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf, createRecordingLog } from '#helpers/hub';
import type { LeftBehind } from '#installs';
import type { Belonging, Upkeep } from '#runtimes';
import { createPlaces } from '../../hub/installs/places.ts';
import { removeServer } from '../../hub/installs/removal.ts';

const image: Belonging = { kind: 'image', name: 'a/b:1' };
const volume: Belonging = { kind: 'volume', name: 'data' };
const one = configOf({ name: 'one' });
const two = configOf({ name: 'two' });

/** Removes the server `one`, whose upkeep has these parts. Returns the steps in order. */
async function removal(
  purge: boolean,
  parts: Partial<Upkeep> = {},
  secrets: readonly LeftBehind[] = [],
  login: () => Promise<{ readonly isRevoked: boolean } | undefined> = async () => undefined,
) {
  const steps: string[] = [];
  const upkeep: Upkeep = {
    prepare: async () => ({}),
    candidates: async () => [image],
    belongings: async () => [image, volume],
    discard: async ({ name }) => void steps.push(`discard ${name}`),
    ...parts,
  };
  const outcome = await removeServer(
    'one',
    purge,
    createPlaces(() => ['one', 'two']),
    () => [two],
    {
      log: createRecordingLog().log,
      specOf: ({ name }) => ({
        server: name,
        env: {},
        maxLineBytes: 1,
        maxWaitingBytes: 1,
        target: { kind: 'process', command: 'x', args: [] },
      }),
      upkeeps: { process: upkeep },
      configFile: {
        remove: async name => void steps.push(`remove ${name}`),
        configs: () => [one, two],
        secretsLeftBy: async name => (name === 'one' ? secrets : []),
      },
      stored: {
        listings: {
          keep: async () => assert.fail('nothing is kept'),
          forget: async name => void steps.push(`forget ${name}`),
        },
        logins: {
          async remove(name) {
            steps.push(`log out ${name}`);
            return await login();
          },
        },
        rollbacks: { remove: async name => void steps.push(`forget upgrades of ${name}`) },
      },
      pinning: { forget: name => void steps.push(`unpin ${name}`) },
      servers: { all: [], find: () => undefined },
    },
  );
  return { outcome, steps };
}

const entry = { kind: 'entry', name: 'one' };

test('without purge only the entry is removed, with its stored listing and upgrades', async () => {
  assert.deepEqual(await removal(false), {
    outcome: { name: 'one', removed: [entry], left: [] },
    steps: ['remove one', 'forget one', 'forget upgrades of one', 'unpin one', 'log out one'],
  });
});

test('the stored secrets that nothing uses now are left, and named', async () => {
  const left = [{ kind: 'secret', name: 'ONE_KEY', why: 'it may be used elsewhere' }];
  const { outcome } = await removal(false, {}, left);
  assert.deepEqual(outcome, { name: 'one', removed: [entry], left });
});

test('the login is removed after the entry, and one that cannot be removed is left with the reason', async () => {
  const revoked = await removal(false, {}, [], async () => ({ isRevoked: true }));
  assert.deepEqual(revoked, {
    outcome: {
      name: 'one',
      removed: [entry, { kind: 'login', name: 'one', revoked: true }],
      left: [],
    },
    steps: ['remove one', 'forget one', 'forget upgrades of one', 'unpin one', 'log out one'],
  });
  const { outcome } = await removal(false, {}, [], async () => {
    throw new Error('the keychain is locked');
  });
  const left = [{ kind: 'login', name: 'one', why: 'the keychain is locked' }];
  assert.deepEqual(outcome, { name: 'one', removed: [entry], left });
});

test('with purge the entry is removed first, and shared objects are left', async () => {
  assert.deepEqual(await removal(true), {
    outcome: {
      name: 'one',
      removed: [entry, volume],
      left: [{ ...image, why: 'the server two has it too' }],
    },
    steps: [
      'remove one',
      'forget one',
      'forget upgrades of one',
      'unpin one',
      'log out one',
      'discard data',
    ],
  });
});

test('an object that cannot be removed is left with the reason, and the entry is removed', async () => {
  const discard = async () => {
    throw new Error('it is in use');
  };
  const { outcome } = await removal(true, { discard, candidates: async () => [] });
  assert.deepEqual(outcome, {
    name: 'one',
    removed: [entry],
    left: [image, volume].map(belonging => ({ ...belonging, why: 'it is in use' })),
  });
});

test.for(['belongings', 'candidates'] as const)(
  'if the runtime cannot list its %s, only the entry is removed',
  async part => {
    const fail = async () => {
      throw new Error('the engine is away');
    };
    assert.deepEqual(await removal(true, { [part]: fail }), {
      outcome: {
        name: 'one',
        removed: [entry],
        left: [{ kind: 'image and volumes', name: 'one', why: 'the engine is away' }],
      },
      steps: ['remove one', 'forget one', 'forget upgrades of one', 'unpin one', 'log out one'],
    });
  },
);
