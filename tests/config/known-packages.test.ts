import assert from 'node:assert/strict';
import { test } from 'vitest';
import { pathsOfKnownPackage } from '#config';

const memory = { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory@2026.8.31' } as const;

test('server-memory writes to a volume of its own in a container', () => {
  assert.deepEqual(pathsOfKnownPackage(memory, { kind: 'docker', server: 'notes' }), {
    env: { MEMORY_FILE_PATH: '/data/memory.jsonl' },
    volumes: [{ name: 'notes-data', target: '/data' }],
  });
});

test('server-memory writes to the data folder as a process', () => {
  assert.deepEqual(pathsOfKnownPackage(memory, { kind: 'process', dataDir: '/hub/data/notes' }), {
    env: { MEMORY_FILE_PATH: '/hub/data/notes/memory.jsonl' },
    volumes: [],
  });
});

test.for([
  { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory-two' },
  { ecosystem: 'pypi', spec: 'server-memory' },
] as const)('$spec needs nothing', source => {
  assert.deepEqual(pathsOfKnownPackage(source, { kind: 'docker', server: 'x' }), {
    env: {},
    volumes: [],
  });
});
