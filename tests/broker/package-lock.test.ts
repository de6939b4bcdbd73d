import assert from 'node:assert/strict';
import { test } from 'vitest';
import { checkLock } from '../../hub/broker/package-lock.ts';

const integrity = `sha512-${'A'.repeat(86)}==`;
const resolved = 'https://registry.npmjs.org/a/-/a-1.0.0.tgz';
const npm = (packages: object, root: object = { dependencies: { a: '^1.0.0' } }) =>
  JSON.stringify({ name: 'server', lockfileVersion: 3, packages: { '': root, ...packages } });
const found = { version: '1.0.0', integrity };
const hash = `--hash=sha256:${'0a'.repeat(32)}`;

test.each([
  ['npm', npm({ 'node_modules/a': { version: '1.0.0', resolved, integrity } })],
  ['npm', npm({ 'node_modules/a/node_modules/@o/b': { version: '1.0.0', integrity } })],
  ['npm', npm({ 'node_modules/a/node_modules/b': { version: '1.0.0', inBundle: true } })],
  ['npm', npm({ 'node_modules/a': { version: '1.0.0', integrity: `sha1-${'A'.repeat(27)}=` } })],
  ['npm', npm({ 'node_modules/a': { name: '@o/b', version: '1.0.0-rc.1+x86', integrity } })],
  ['npm', npm({ 'node_modules/a': { ...found, dependencies: { b: '>=1 <3', c: 'next' } } })],
  ['npm', npm({ 'node_modules/a': { ...found, optionalDependencies: { b: 'npm:@o/b@^4.1.0' } } })],
  [
    'npm',
    npm({
      'node_modules/a': {
        ...found,
        dependencies: { b: 'https://example.com/b.tgz' },
        bundleDependencies: ['b'],
      },
      'node_modules/a/node_modules/b': { version: '1.0.0', inBundle: true },
    }),
  ],
  ['python', `a==1.0 ${hash}\nb_c.d==2.0.post1+cpu ${hash} ${hash}\n`],
] as const)('a lock of %s is admitted: %s', (base, lock) => {
  assert.equal(checkLock(base, lock), lock);
});

test('a build without a lock is admitted', () => {
  assert.equal(checkLock('npm', undefined), undefined);
});

const one = (entry: object) => npm({ 'node_modules/a': { version: '1.0.0', ...entry } });
test.each([
  ['npm', 'a==1.0'],
  ['npm', '[]'],
  ['npm', '{"lockfileVersion":1,"packages":{}}'],
  ['npm', one({})],
  ['npm', one({ integrity: '' })],
  ['npm', one({ integrity: 'md5-x' })],
  ['npm', one({ integrity, resolved: 'https://evil.example/a.tgz' })],
  ['npm', one({ integrity, resolved: 'http://registry.npmjs.org/a.tgz' })],
  ['npm', one({ integrity, resolved: 'file:../../etc' })],
  ['npm', one({ integrity, resolved: 'git+ssh://git@example.com/a.git' })],
  ['npm', one({ integrity, link: true })],
  ['npm', one({ inBundle: true, resolved })],
  ['npm', one({ inBundle: true })],
  ['npm', one({ integrity, version: undefined })],
  ['npm', one({ integrity, version: 'https://evil.example/a.tgz' })],
  ['npm', one({ integrity, name: 'a@https://evil.example/a.tgz?' })],
  ['npm', one({ integrity, dependencies: { b: 'https://evil.example/b.tgz' } })],
  ['npm', one({ integrity, optionalDependencies: { b: 'evil/b' } })],
  ['npm', one({ integrity, peerDependencies: { b: 'git+ssh://git@evil.example/b.git' } })],
  ['npm', one({ integrity, dependencies: { b: 'npm:c@file:../x' } })],
  [
    'npm',
    npm({
      'node_modules/a': { ...found, dependencies: { b: 'evil/b' }, bundleDependencies: ['b'] },
      'node_modules/b': found,
    }),
  ],
  [
    'npm',
    npm({
      'node_modules/a': { ...found, dependencies: { b: 'evil/b' }, bundleDependencies: ['c'] },
      'node_modules/a/node_modules/b': { version: '1.0.0', inBundle: true },
    }),
  ],
  [
    'npm',
    npm({
      'node_modules/a': found,
      'node_modules/a/node_modules/b': { version: 'https://evil.example/b.tgz', inBundle: true },
    }),
  ],
  ['npm', npm({ 'node_modules/a@https:/evil.example': found })],
  ['npm', npm({ '../../etc/x': { integrity } })],
  ['npm', npm({ 'node_modules/../../x': { integrity } })],
  ['npm', npm({ 'packages/x': { integrity } })],
  ['npm', npm({}, { dependencies: { a: 'https://evil.example/a.tgz' } })],
  ['python', 'a==1.0'],
  ['python', `a ${hash}`],
  ['python', `a @ https://evil.example/a.whl ${hash}`],
  ['python', `--index-url=https://evil.example\na==1.0 ${hash}`],
  ['python', `-r /etc/passwd`],
  ['python', `a==1.0 ${hash} --config-settings=x`],
  ['python', `a==1.0 ; python_version > "3" ${hash}`],
] as const)('a lock of %s is refused: %s', (base, lock) => {
  assert.throws(() => checkLock(base, lock), { code: 'HUB_BROKER_REFUSED' });
});
