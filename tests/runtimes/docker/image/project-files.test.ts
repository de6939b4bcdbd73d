import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { TarFile } from '#contexts';
import {
  layProject,
  projectLockName,
} from '../../../../hub/runtimes/docker/image/project-files.ts';

const file = (path: string, text = '', link?: string): TarFile => ({
  path,
  content: Buffer.from(text),
  link,
});
const template = [file('Dockerfile', 'FROM x')];
const files = [
  file('a/package.json', '{}'),
  file('package-lock.json', '{}'),
  file('package.json', '{}'),
  file('src/a.js', 'one'),
  file('src/package.json', '', '../package.json'),
];

test('manifests are sent twice, so that packages are installed before the code is copied', () => {
  const paths = layProject('npm', template, files, 'lock').map(({ path }) => path);
  assert.deepEqual(paths, [
    'Dockerfile',
    'lock',
    'manifest/a/package.json',
    'manifest/package-lock.json',
    'manifest/package.json',
    'project/a/package.json',
    'project/package-lock.json',
    'project/package.json',
    'project/src/a.js',
    'project/src/package.json',
  ]);
  const python = layProject('python', [], [file('uv.lock'), file('pyproject.toml')], undefined);
  assert.deepEqual(
    python.map(({ path }) => path).filter(path => path.startsWith('manifest/')),
    ['manifest/uv.lock', 'manifest/pyproject.toml'],
  );
});

test('the lock of a project survives changes of its code, but not of its manifests', () => {
  const build = { folder: '/home/me/my server', kind: 'npm' } as const;
  const name = projectLockName(build, files);
  assert.match(name, /^build-my-server@[0-9a-f]{12}$/);
  assert.equal(projectLockName(build, [...files, file('src/b.js')]), name);
  assert.notEqual(projectLockName(build, [...files, file('b/package.json')]), name);
  assert.notEqual(projectLockName(build, files, 'other base'), name);
});
