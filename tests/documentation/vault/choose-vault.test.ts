import assert from 'node:assert/strict';
import { test } from 'vitest';
import { chooseVault } from '../../../hub/documentation/vault/choose-vault.ts';

const obsidian = {
  url: 'https://127.0.0.1:1',
  key: 'k',
  keyFault: undefined,
  certificate: undefined,
  fingerprint: 'f',
};

test.each([
  ['/vault', {}, 'folder /vault named'],
  ['/vault', { vault: '/other', obsidian }, 'folder /vault named'],
  [undefined, { vault: '/other', obsidian }, 'folder /other'],
  [undefined, { obsidian }, 'obsidian https://127.0.0.1:1'],
  ['obsidian', { vault: '/other', obsidian }, 'obsidian https://127.0.0.1:1'],
])('%s with %j chooses %s', (wanted, config, expected) => {
  const { kind, place, isNamed } = chooseVault(wanted, {
    vault: undefined,
    obsidian: undefined,
    ...config,
  });
  assert.equal(`${kind} ${place}${isNamed ? ' named' : ''}`, expected);
});

test.each([
  [undefined, /neither "documentation\.vault" nor "documentation\.obsidian"/],
  ['obsidian', /has no "documentation\.obsidian"/],
  ['notes', /"notes" is not an absolute path/],
])('%s without a config is refused', (wanted, message) => {
  assert.throws(() => chooseVault(wanted, { vault: undefined, obsidian: undefined }), {
    code: 'HUB_VAULT_UNKNOWN',
    message,
  });
});
