import assert from 'node:assert/strict';
import { test } from 'vitest';
import { kindOfFolder } from '../../hub/contexts/context-kind.ts';

test.for([
  [['Dockerfile', 'package.json', 'pyproject.toml'], 'docker'],
  [['package.json', 'a.js'], 'npm'],
  [['pyproject.toml'], 'python'],
] as const)('%j is built by %s', ([names, kind]) => {
  assert.deepEqual(kindOfFolder(names), { kind });
});

test.for([
  [
    ['package.json', 'pyproject.toml'],
    /holds both package.json and pyproject.toml. Add a Dockerfile/,
  ],
  [['server.py'], /holds no Dockerfile, package.json or pyproject.toml. Add one/],
] as const)('%j is not built', ([names, why]) => {
  const found = kindOfFolder(names);
  assert.match('why' in found ? found.why : '', why);
});
