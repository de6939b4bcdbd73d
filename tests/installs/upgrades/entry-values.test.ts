import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf } from '#helpers/hub';
import { requireOnlyPackage, valuesFor } from '../../../hub/installs/upgrades/entry-values.ts';

const npm = (version: string) => ({ ecosystem: 'npm', spec: `@o/n@${version}` }) as const;
const pypi = (version: string) => ({ ecosystem: 'pypi', spec: `n==${version}` }) as const;

test.each([
  [{ package: '@o/n@1.0.0' }, npm('1.0.0'), npm('2.0.0'), { package: '@o/n@2.0.0' }],
  [{ package: 'uvx:n==1.0' }, pypi('1.0'), pypi('2.0'), { package: 'uvx:n==2.0' }],
  [
    { command: 'npx', args: ['-y', '@o/n@1.0.0', '/data'] },
    npm('1.0.0'),
    npm('2.0.0'),
    { args: ['-y', '@o/n@2.0.0', '/data'] },
  ],
  [{ args: ['-y', '@o/n'] }, npm('1.0.0'), npm('2.0.0'), { args: ['-y', '@o/n@2.0.0'] }],
  [
    { args: ['--package=@o/n@1.0.0', 'program'] },
    npm('1.0.0'),
    npm('2.0.0'),
    { args: ['--package=@o/n@2.0.0', 'program'] },
  ],
  [{ args: ['n@1.0'] }, pypi('1.0'), pypi('2.0'), { args: ['n@2.0'] }],
  [
    { args: ['--from', 'n==1.0', 'n'] },
    pypi('1.0'),
    pypi('2.0'),
    { args: ['--from', 'n==2.0', 'n'] },
  ],
  [
    { args: ['-y', '@o/n@2.0.0'] },
    npm('2.0.0'),
    { ecosystem: 'npm', spec: '@o/n' } as const,
    { args: ['-y', '@o/n'] },
  ],
  [{ args: ['-y', '@o/n@1.2.9'] }, npm('1.2.9'), npm('1.2'), { args: ['-y', '@o/n@1.2'] }],
  [
    { args: ['--from=n==2.0', 'n'] },
    pypi('2.0'),
    { ecosystem: 'pypi', spec: 'n' } as const,
    { args: ['--from=n', 'n'] },
  ],
])('%j', (entry, from, to, expected) => {
  assert.deepEqual(valuesFor('one', entry, from, to), expected);
});

test('an entry that does not name its package is left unchanged', () => {
  const conflict = { code: 'HUB_CONFIG_CONFLICT', message: /by hand/ };
  for (const entry of [{ args: ['-y', '@o/name-that-is-longer'] }, { command: 'npx' }])
    assert.throws(() => valuesFor('one', entry, npm('1.0.0'), npm('2.0.0')), conflict);
});

test('an entry in which more than the package would change is refused', () => {
  const of = (spec: string, args: readonly string[] = []) => {
    const config = configOf({ name: 'one' });
    assert.ok(config.launch.kind === 'local');
    const source = { ecosystem: 'npm', spec } as const;
    return { ...config, launch: { ...config.launch, package: source, args } };
  };
  requireOnlyPackage(of('@o/n@1.0.0'), of('@o/n@2.0.0'), npm('2.0.0'));
  const conflict = { code: 'HUB_CONFIG_CONFLICT' };
  for (const after of [
    of('@o/n@1.0.0'),
    of('@o/n@2.0.0', ['more']),
    configOf({ name: 'one', url: 'http://x' }),
  ])
    assert.throws(() => requireOnlyPackage(of('@o/n@1.0.0'), after, npm('2.0.0')), conflict);
});
