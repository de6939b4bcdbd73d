import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readJson } from '../../hub/config/json.ts';
import { findDuplicateServers, mergeFiles, withoutInheritance } from '../../hub/config/merge.ts';
import type { SourceNode } from '../../hub/config/source-map.ts';

function nodeOf(value: unknown): SourceNode {
  const { root } = readJson({ file: 'a.json', text: JSON.stringify(value) });
  assert.ok(root);
  return root;
}

function valueOf(node: SourceNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(valueOf);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, valueOf(value)]));
}

const merged = (below: unknown, above: unknown) =>
  valueOf(mergeFiles(nodeOf(below), nodeOf(above)));

describe('a file over the one that it extends', () => {
  test('merges objects, and replaces lists and other values', () => {
    assert.deepEqual(
      merged(
        { servers: { a: { args: ['1'], env: { A: '1', B: '2' } } }, naming: 1 },
        { servers: { a: { args: ['2'], env: { B: '3' } }, b: {} }, naming: 2 },
      ),
      { naming: 2, servers: { a: { args: ['2'], env: { A: '1', B: '3' } }, b: {} } },
    );
  });

  test('removes inherited values with null, and keeps a null that removes nothing', () => {
    assert.deepEqual(
      merged({ servers: { a: { x: 1 } } }, { servers: { a: { x: null, y: null } } }),
      {
        servers: { a: { y: null } },
      },
    );
  });

  test('overrides other keys with the same meaning, but only in entries', () => {
    assert.deepEqual(
      merged(
        { servers: { a: { enabled: true, env: { type: 'x' } } } },
        { servers: { a: { disabled: true, env: { transport: 'y' } } } },
      ),
      { servers: { a: { disabled: true, env: { type: 'x', transport: 'y' } } } },
    );
  });

  test('leaves a server in the group where the extended file has it', () => {
    assert.deepEqual(merged({ mcpServers: { a: { x: 1 } } }, { servers: { a: { x: 2 }, b: {} } }), {
      mcpServers: { a: { x: 2 } },
      servers: { b: {} },
    });
  });

  test('replaces what is not an object', () => {
    assert.deepEqual(merged([1], { a: 1 }), { a: 1 });
    assert.equal(merged({ a: 1 }, 2), 2);
  });
});

test('an entry without inheritance gets null for all that it would inherit', () => {
  const below = nodeOf({ command: 'x', enabled: true, env: { A: '1', B: '2' } });
  assert.deepEqual(withoutInheritance({ disabled: true, env: { B: '3' } }, below), {
    disabled: true,
    env: { B: '3', A: null },
    command: null,
  });
  assert.deepEqual(withoutInheritance({ a: 1 }, nodeOf(null)), { a: 1 });
});

test('a server that is in both groups is found', () => {
  const found = findDuplicateServers(nodeOf({ servers: { a: {}, b: {} }, mcpServers: { b: {} } }));
  assert.deepEqual(
    found.map(({ text }) => text),
    ['"b" is also a server in "servers": rename or remove one'],
  );
  assert.deepEqual(findDuplicateServers(nodeOf({ servers: { a: {} } })), []);
});
