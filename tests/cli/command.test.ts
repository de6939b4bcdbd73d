import assert from 'node:assert/strict';
import { test } from 'vitest';
import { optionTypes } from '../../hub/cli/command.ts';

test('the options of a command are those of its table, and --help', () => {
  const options = {
    force: { help: 'Do it.', short: 'f' },
    tag: { help: 'A tag.', value: 'tag', multiple: true },
  } as const;
  const types = optionTypes({ name: 'x', summary: 'X.', options, run: async () => 0 });
  assert.deepEqual(types, {
    force: { type: 'boolean', multiple: false, short: 'f' },
    tag: { type: 'string', multiple: true },
    help: { type: 'boolean', short: 'h' },
  });
});
