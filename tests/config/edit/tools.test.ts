import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { createEditor, temporary } from '../editing.ts';

const base = '{"servers": {"a": {"image": "a:1", "tools": {"deny": ["x"], "allow": ["x", "y"]}}}}';

test('a list of a server is changed starting from its value in the file', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.json');
  await writeFile(path, base);
  const config = await createEditor(folder.path).changeTools(path, 'a', tools => {
    assert.deepEqual(tools?.deny, ['x']);
    return { deny: ['x', 'w'] };
  });
  assert.deepEqual(config.servers[0]?.tools?.deny, ['x', 'w']);
  assert.deepEqual(config.servers[0]?.tools?.allow, ['x', 'y']);
  assert.equal(await readFile(path, 'utf8'), base.replace('["x"]', '["x", "w"]'));
});

test('a list of a file in "extends" is overridden, and that file is unchanged', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.yaml');
  await writeFile(join(folder.path, 'base.json'), base);
  await writeFile(path, 'extends: base.json\n');
  const editor = createEditor(folder.path);
  const more = await editor.changeTools(path, 'a', () => ({ deny: ['x', 'w'] }));
  assert.deepEqual(more.servers[0]?.tools?.deny, ['x', 'w']);
  const none = await editor.changeTools(path, 'a', () => ({ deny: [] }));
  assert.deepEqual(none.servers[0]?.tools?.deny, []);
  assert.equal(await readFile(join(folder.path, 'base.json'), 'utf8'), base);
});

test.for([
  ['{"servers": {"b": {"image": "b:1"}}}', 'HUB_SERVER_UNKNOWN'],
  ['{"servers": {"a": {"imag": "b:1"}}}', 'HUB_CONFIG_INVALID'],
] as const)('an edit is refused, and the file stays as it was: %s', async ([text, code]) => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.json');
  await writeFile(path, text);
  const outcome = createEditor(folder.path).changeTools(path, 'a', () => ({ deny: ['w'] }));
  await assert.rejects(outcome, { code });
  assert.equal(await readFile(path, 'utf8'), text);
});

test('a server that has an alias is not changed', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.yaml');
  const text = 'servers:\n  a: &a\n    image: "a:1"\n  b: *a\n';
  await writeFile(path, text);
  const outcome = createEditor(folder.path).changeTools(path, 'a', () => ({ deny: ['w'] }));
  await assert.rejects(outcome, /Edit it by hand/);
  assert.equal(await readFile(path, 'utf8'), text);
});

test('a list with an alias in a policy rule is not changed', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.yaml');
  const text = `servers:
  a:
    image: "a:1"
    tools:
      deny: &risky [x, y]
policy:
  - { tools: *risky, action: deny }
`;
  await writeFile(path, text);
  const outcome = createEditor(folder.path).changeTools(path, 'a', () => ({ deny: ['y'] }));
  await assert.rejects(outcome, /Edit it by hand/);
  assert.equal(await readFile(path, 'utf8'), text);
});
