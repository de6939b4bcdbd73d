import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { checkTags, loadConfig, withTags } from '#config';

async function tagged(
  tags: readonly string[],
  more: Readonly<Record<string, object>> = {},
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-tags-'));
  const file = join(folder, 'hub.json');
  const servers = {
    one: { package: 'a@1.0.0', tags: ['work'] },
    two: { package: 'b@1.0.0', tags: ['仕事', 'notes'] },
    three: { package: 'c@1.0.0' },
    ...more,
  };
  writeFileSync(file, JSON.stringify({ servers }));
  const config = await loadConfig(file, { env: {}, home: '/home/user' });
  rmSync(folder, { recursive: true });
  checkTags(config, tags);
  return withTags(config, tags).servers.map(server => server.name);
}

test.for([
  [['work'], ['one']],
  [['仕事'], ['two']],
  [
    ['notes', 'work'],
    ['one', 'two'],
  ],
] as const)('the tags %j select %j', async ([tags, names]) => {
  assert.deepEqual(await tagged(tags), names);
});

test('an accent in a tag is found however the config spells it', async () => {
  const tag = 'é'.normalize('NFC');
  const four = { package: 'd@1.0.0', tags: [tag.normalize('NFD')] };
  assert.deepEqual(await tagged([tag], { four }), ['four']);
});

test('a tag that no server has is an error that names those there are', async () => {
  await assert.rejects(tagged(['work', 'wrok']), /^HubError: --tags: .*"wrok".*work, 仕事, notes$/);
});
