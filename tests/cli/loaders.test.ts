import assert from 'node:assert/strict';
import { test } from 'vitest';
import { aliases, commandNames, loadCommand } from '../../hub/cli/loaders.ts';

test('a command is loaded by its name and by its aliases', async () => {
  for (const [alias, name] of Object.entries(aliases)) {
    assert.ok(commandNames.includes(name), `${alias} stands for ${name}, which is no command`);
    assert.ok(!commandNames.includes(alias), `${alias} is a command of its own`);
    assert.equal(await loadCommand(alias), await loadCommand(name));
  }
  assert.equal((await loadCommand('list'))?.name, 'list');
});

test('other names are unknown commands', async () => {
  for (const name of ['lst', 'toString', ''])
    assert.equal(await loadCommand(name), undefined, name);
});
