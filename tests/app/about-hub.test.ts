import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { createShippedFiles } from '#config';
import { aboutHub } from '../../hub/app/about-hub.ts';
import { temporary } from '../config/editing.ts';

test('the config is that of AgentHub only while there is no file of the user', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const comes = join(folder.path, 'default.json');
  await writeFile(comes, '{}');
  const shipped = createShippedFiles({ [file]: comes });
  const place = { auto: 'docker', engine: 'Docker Engine 1' };
  const shown = async () => (await aboutHub({ file, shipped }, place)).config;
  const theirs = `${file} (the one of AgentHub, as there is none here), watched: changes apply at once`;
  assert.equal(await shown(), theirs);
  await writeFile(file, '{"servers": {}}');
  assert.equal(await shown(), `${file}, watched: changes apply at once`);
});
