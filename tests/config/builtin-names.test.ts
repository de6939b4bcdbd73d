import assert from 'node:assert/strict';
import { test } from 'vitest';
import { builtinNameOf } from '#config';
import { builtinNameWarnings } from '../../hub/config/builtin-names.ts';

test("a server of the hub's own gets a name that no entry has", () => {
  const named = (...taken: readonly string[]) =>
    builtinNameOf('agenthub', name => taken.includes(name));
  assert.equal(named(), 'agenthub');
  assert.equal(named('agenthub'), 'agenthub-builtin');
  assert.equal(named('agenthub', 'agenthub-builtin'), 'agenthub-builtin-builtin');
});

test.each(['agenthub', 'agents', 'tasks', 'documentation'])(
  'an entry called %s is warned of',
  name => {
    assert.deepEqual(builtinNameWarnings([{ name }, { name: 'time' }]), [
      `${name}: the hub has a server of this name itself, which is called ${name}-builtin while this entry exists. Rename the entry to avoid confusion`,
    ]);
  },
);
