import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { makeTempFolder } from '#helpers/temp-folder';
import { whyNotBuilt } from '#runtimes';

test('a program of the hub that was not built is named, with the command that builds it', () => {
  const root = makeTempFolder('built-program');
  const imagesDir = join(root, 'images');
  const file = join(imagesDir, 'agent', 'agent.mjs');
  assert.equal(
    whyNotBuilt(imagesDir, 'agent'),
    `${file} was not built. Run "node scripts/prepare.mjs" in ${root}`,
  );
  mkdirSync(join(imagesDir, 'agent'), { recursive: true });
  writeFileSync(file, '');
  assert.equal(whyNotBuilt(imagesDir, 'agent'), undefined);
  assert.equal(whyNotBuilt(imagesDir, 'git'), undefined);
});
