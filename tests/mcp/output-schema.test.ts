import assert from 'node:assert/strict';
import { test } from 'vitest';
import { legacyTool } from '#mcp';

const wrappedOf = (outputSchema: unknown): unknown => {
  const tool = legacyTool(Buffer.from(JSON.stringify({ name: 'n', outputSchema, other: 1 })));
  return tool && JSON.parse(tool.toString()).outputSchema;
};
const inResult = (result: unknown, more: object = {}) => ({
  ...more,
  type: 'object',
  properties: { result },
  required: ['result'],
});

test.for([
  ['an object', { type: 'object', properties: {} }],
  ['none', undefined],
  ['what is no schema', null],
  ['a list', []],
  ['true', true],
] as const)('a tool is unchanged for all revisions if its output schema is %s', ([, schema]) => {
  assert.equal(wrappedOf(schema), undefined);
});

test.for([
  ['another type', { type: 'array' }, { type: 'array' }],
  ['several types', { type: ['object', 'null'] }, { type: ['object', 'null'] }],
  ['no type', { anyOf: [{ type: 'object' }] }, { anyOf: [{ type: 'object' }] }],
  [
    'references to its root',
    { items: { $ref: '#' }, $defs: { $ref: { $dynamicRef: '#/items' } } },
    {
      items: { $ref: '#/properties/result' },
      $defs: { $ref: { $dynamicRef: '#/properties/result/items' } },
    },
  ],
  [
    'references elsewhere',
    { anyOf: [{ $ref: '#anchor' }, { $ref: 'https://example.com/#/a' }] },
    { anyOf: [{ $ref: '#anchor' }, { $ref: 'https://example.com/#/a' }] },
  ],
  [
    'data that look like references',
    { enum: [{ $ref: '#' }], properties: { enum: { $ref: '#' } }, default: { $ref: '#' } },
    {
      enum: [{ $ref: '#' }],
      properties: { enum: { $ref: '#/properties/result' } },
      default: { $ref: '#' },
    },
  ],
  [
    'a part with a base of its own',
    { items: { $id: 'https://example.com/a', $ref: '#' }, not: { $id: '#a', $ref: '#' } },
    {
      items: { $id: 'https://example.com/a', $ref: '#' },
      not: { $id: '#a', $ref: '#/properties/result' },
    },
  ],
  [
    'a base of its own',
    { $id: 'https://example.com/a', items: { $ref: '#' } },
    { $id: 'https://example.com/a', items: { $ref: '#' } },
  ],
] as const)('a schema with %s is wrapped', ([, schema, result]) => {
  assert.deepEqual(wrappedOf(schema), inResult(result));
});

test('the recursive references of 2019-09 are replaced by plain ones', () => {
  const $schema = 'https://json-schema.org/draft/2019-09/schema';
  assert.deepEqual(
    wrappedOf({
      $schema,
      items: { $recursiveRef: '#' },
      not: { $recursiveRef: '#', $ref: '#/items' },
    }),
    inResult(
      {
        $schema,
        items: { $ref: '#/properties/result' },
        not: { $ref: '#/properties/result/items', allOf: [{ $ref: '#/properties/result' }] },
      },
      { $schema },
    ),
  );
  const $recursiveAnchor = true;
  const anchored = { $schema, $recursiveAnchor, items: { $recursiveRef: '#' } };
  assert.deepEqual(wrappedOf(anchored), inResult(anchored, { $schema }));
});

test('other members of the tool are unchanged', () => {
  const tool = legacyTool(
    Buffer.from('{ "name" : "\\u00e9", "outputSchema":{"type":"string"} , "a":1.0}'),
  );
  assert.equal(
    tool?.toString(),
    '{ "name" : "\\u00e9", "outputSchema":{"type":"object","properties":{"result":{"type":"string"}},"required":["result"]} , "a":1.0}',
  );
});

test('a schema of a thousand levels is not wrapped', () => {
  const deep = `${'{"not":'.repeat(1_000)}{}${'}'.repeat(1_000)}`;
  assert.equal(legacyTool(Buffer.from(`{"name":"n","outputSchema":${deep}}`)), undefined);
});
