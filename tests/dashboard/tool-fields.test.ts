import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { fieldsOf } from '#dashboard';

const kindOf = (schema: unknown) => fieldsOf({ type: 'object', properties: { it: schema } })?.[0];

describe('the fields of a tool', () => {
  const rows: readonly (readonly [schema: unknown, kind: string])[] = [
    [{ type: 'string' }, 'text'],
    [{ type: 'string', format: 'date' }, 'text'],
    [{ type: 'number' }, 'number'],
    [{ type: 'integer', minimum: 1 }, 'integer'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'string', enum: ['a', 'b'] }, 'choice'],
    [{ enum: ['a', 'b'] }, 'choice'],
    [{ type: 'integer', enum: [1, 2] }, 'json'],
    [{ enum: ['a', 1] }, 'json'],
    [{ type: 'string', enum: [] }, 'json'],
    [{ type: 'array', items: { type: 'string' } }, 'json'],
    [{ type: 'object' }, 'json'],
    [{ type: ['string', 'null'] }, 'json'],
    [{ anyOf: [{ type: 'string' }] }, 'json'],
    [true, 'json'],
    [{}, 'json'],
  ];
  for (const [schema, kind] of rows)
    test(`${JSON.stringify(schema)} is filled in as ${kind}`, () => {
      assert.equal(kindOf(schema)?.kind, kind);
    });

  test('know which are needed, what they are for, and what they hold unless changed', () => {
    const fields = fieldsOf({
      type: 'object',
      properties: {
        title: { type: 'string', description: 'What it is about.', default: 'Tea' },
        count: { type: 'integer', default: 3 },
        tags: { type: 'array', default: ['a'] },
      },
      required: ['title'],
    });
    assert.deepEqual(
      fields?.map(({ name, isRequired, description, initial }) => [
        name,
        isRequired,
        description,
        initial,
      ]),
      [
        ['title', true, 'What it is about.', 'Tea'],
        ['count', false, undefined, '3'],
        ['tags', false, undefined, '["a"]'],
      ],
    );
  });

  test('of a schema without arguments are none', () => {
    assert.deepEqual(fieldsOf({ type: 'object' }), []);
    assert.deepEqual(fieldsOf({}), []);
  });

  test('cannot be told of a schema that does not name its members', () => {
    const many = Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`a${at}`, {}]));
    for (const schema of [
      undefined,
      'text',
      { type: 'array' },
      { type: 'object', oneOf: [{}] },
      { $ref: '#/$defs/it' },
      { type: 'object', properties: 'none' },
      { type: 'object', properties: many },
    ])
      assert.equal(fieldsOf(schema), undefined, JSON.stringify(schema));
  });
});
