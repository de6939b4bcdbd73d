import assert from 'node:assert/strict';
import { test } from 'vitest';
import { sourceNameOf, withPackageKey } from '../../hub/clients/source-name.ts';

test.for([
  [
    { command: 'npx', args: ['-y', '@a/b@1.0.0', 'x'] },
    '@a/b',
    { package: '@a/b@1.0.0', args: ['x'] },
  ],
  [
    { command: 'uvx', args: ['--from', 'a==1.0', '--python', '3.12', 'b'] },
    'pypi:a',
    { package: 'uvx:a==1.0', command: 'b', python: '3.12' },
  ],
  [{ package: '@a/b', args: ['x'] }, '@a/b', { package: '@a/b', args: ['x'] }],
  [{ image: 'host:5000/a/b:1' }, 'docker:host:5000/a/b', { image: 'host:5000/a/b:1' }],
  [{ package: 'docker:a/b@sha256:0' }, undefined, { package: 'docker:a/b@sha256:0' }],
  [{ command: 'other', args: [] }, undefined, { command: 'other', args: [] }],
] as const)('the entry %j has the source name %s', ([entry, name, changed]) => {
  assert.equal(sourceNameOf(entry), name);
  assert.deepEqual(withPackageKey({ ...entry, auto_start: true }), {
    ...changed,
    auto_start: true,
  });
});
