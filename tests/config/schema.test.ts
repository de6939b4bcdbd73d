import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { schemaJson } from '#config';
import { isObject } from '#core';
import { configKeys } from '../../hub/config/schema.ts';

test('configs/hub.schema.json is current: "agenthub schema" regenerates it', async () => {
  const file = join(import.meta.dirname, '../../configs/hub.schema.json');
  assert.equal(await readFile(file, 'utf8'), schemaJson());
});

test('every key has a description', () => {
  const bare: string[] = [];
  const look = (schema: unknown, path: string) => {
    if (!isObject(schema)) return;
    for (const [name, value] of Object.entries(schema)) {
      if (name === 'properties' && isObject(value))
        for (const [key, property] of Object.entries(value))
          if (!isObject(property) || !property['description']) bare.push(`${path}/${key}`);
      for (const inside of Array.isArray(value) ? value : [value]) look(inside, `${path}/${name}`);
    }
  };
  const schema: unknown = JSON.parse(schemaJson());
  look(schema, '');
  assert.deepEqual(bare, []);
  assert.ok(schemaJson().includes('"health_check_interval"'), 'the servers are in it');
});

test('no two keys of an object have the same description', () => {
  const equal: string[] = [];
  const look = (schema: unknown, path: string) => {
    if (!isObject(schema)) return;
    for (const [name, value] of Object.entries(schema)) {
      if (name === 'properties' && isObject(value)) {
        const seen = new Set<unknown>();
        for (const [key, property] of Object.entries(value)) {
          const description = isObject(property) ? property['description'] : undefined;
          if (seen.has(description)) equal.push(`${path}/${key}`);
          seen.add(description);
        }
      }
      for (const inside of Array.isArray(value) ? value : [value]) look(inside, `${path}/${name}`);
    }
  };
  look(JSON.parse(schemaJson()), '');
  assert.deepEqual(equal, []);
});

test.each([
  [['profiles', 'work', 'find'], ['pinned']],
  [
    ['servers', 'one', 'oauth'],
    ['client_id', 'client_secret', 'client_metadata_url', 'scopes'],
  ],
  [
    ['models', 'providers', 'work', 'prices', 'gpt-x'],
    ['prompt', 'completion'],
  ],
  [
    ['documentation', 'obsidian'],
    ['url', 'key', 'certificate', 'fingerprint'],
  ],
  [
    ['policy', 0, 'annotations'],
    ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'],
  ],
  [
    ['limits', 'per_session', 'rate'],
    ['calls', 'per'],
  ],
  [
    ['mcpServers', 'one', 'mounts', 0],
    ['source', 'target', 'read_only'],
  ],
  [['servers', 'one', 'network'], ['allow']],
  [['tags', 'nothing', 'here'], []],
])('the keys at %j are %j', (path, keys) => {
  assert.deepEqual(configKeys.keysAt(path), keys);
});

test('the known keys of the file and of an entry are those of the schema', () => {
  const { properties } = JSON.parse(schemaJson());
  assert.deepEqual(configKeys.keysAt([]), Object.keys(properties));
  assert.ok(configKeys.keysAt(['servers', 'one']).includes('health_check_interval'));
});
