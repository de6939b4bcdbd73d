import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { PackageSpec } from '#config';
import { HubError } from '#core';
import { findOutdated } from '../../../hub/installs/upgrades/outdated.ts';
import { packagedConfig } from './packaged.ts';

const newest = new Map([
  ['old', 'old@2.0.0'],
  ['current', 'current@2.0.0'],
  ['ahead', 'ahead@1.0.0'],
  ['bare', 'bare@3.0.0'],
  ['odd', 'odd'],
]);

test('the newest versions of all packages are returned, and why one is unknown', async () => {
  const pin = async ({ ecosystem, spec }: PackageSpec) => {
    const found = newest.get(spec);
    if (found === undefined) throw new HubError('HUB_REGISTRY_UNREACHABLE', 'it is away');
    return { ecosystem, spec: found };
  };
  const specs = ['old@1.0.0', 'current@2.0.0', 'ahead@2.0.0', 'bare', 'odd@1.0.0', 'away@1.0.0'];
  const configs = specs.map(spec => packagedConfig({ ecosystem: 'npm', spec }, spec.split('@')[0]));
  const found = await findOutdated(
    [...configs, packagedConfig(undefined)],
    { pin },
    new AbortController().signal,
  );
  assert.deepEqual(
    found.map(({ name, state, current, newest: then }) => [name, state, current, then]),
    [
      ['old', 'outdated', '1.0.0', '2.0.0'],
      ['current', 'current', '2.0.0', '2.0.0'],
      ['ahead', 'current', '2.0.0', '1.0.0'],
      ['bare', 'unpinned', null, '3.0.0'],
      ['odd', 'unknown', '1.0.0', null],
      ['away', 'unknown', '1.0.0', null],
    ],
  );
  assert.equal(found.at(-1)?.['why'], 'it is away');
});
