import assert from 'node:assert/strict';
import { test } from 'vitest';
import { commonSchema } from '../../../hub/builtin/fan-out/common-schema.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const schemaOf = (properties: object, required: readonly string[] = [], more: object = {}) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  ...more,
});
const common = (...schemas: readonly unknown[]) => {
  const { inputSchema, unusable } = commonSchema(
    schemas.map((inputSchema, index) => ({ name: `t${index}`, inputSchema })),
  );
  return { inputSchema, unusable: Object.fromEntries(unusable) };
};

test.for([
  [
    'properties that all have, with the words of the first',
    [
      schemaOf({ q: { ...text, description: 'What.' }, limit: number }, ['q']),
      schemaOf({ q: { ...text, title: 'Q' }, page: number }),
    ],
    schemaOf({ q: { ...text, description: 'What.' } }, ['q']),
    {},
  ],
  [
    'no property that accepts other values',
    [schemaOf({ q: text, limit: number }), schemaOf({ q: text, limit: { ...number, maximum: 5 } })],
    schemaOf({ q: text }),
    {},
  ],
  [
    'a property that one of them requires, as required',
    [schemaOf({ q: text }), schemaOf({ q: text }, ['q'])],
    schemaOf({ q: text }, ['q']),
    {},
  ],
  [
    'nothing of a tool that requires what the first does not have',
    [
      schemaOf({ q: text, limit: number }, ['q']),
      schemaOf({ q: text, repo: text }, ['q', 'repo']),
      schemaOf({ q: text, limit: number }),
    ],
    schemaOf({ q: text, limit: number }, ['q']),
    { t1: ['repo'] },
  ],
  [
    'nothing of a tool whose required argument the others take otherwise',
    [schemaOf({ q: text }, ['q']), schemaOf({ query: text }, ['query'])],
    schemaOf({ q: text }, ['q']),
    { t1: ['q', 'query'] },
  ],
  [
    'references only where the definitions are the same',
    [
      schemaOf({ a: { $ref: '#/$defs/a' } }, [], { $defs: { a: text } }),
      schemaOf({ a: { $ref: '#/$defs/a' } }, [], { $defs: { a: text } }),
    ],
    { ...schemaOf({ a: { $ref: '#/$defs/a' } }), $defs: { a: text } },
    {},
  ],
  [
    'no references to other definitions',
    [
      schemaOf({ a: { $ref: '#/$defs/a' } }, [], { $defs: { a: text } }),
      schemaOf({ a: { $ref: '#/$defs/a' } }, [], { $defs: { a: number } }),
    ],
    schemaOf({}),
    {},
  ],
  [
    'the definitions of older drafts, where they are the same',
    [
      schemaOf({ a: { $ref: '#/definitions/a' }, b: text }, [], { definitions: { a: text } }),
      schemaOf({ a: { $ref: '#/definitions/a' }, b: text }, [], { definitions: { a: text } }),
    ],
    {
      ...schemaOf({ a: { $ref: '#/definitions/a' }, b: text }),
      definitions: { a: text },
    },
    {},
  ],
  [
    'no references to other definitions of older drafts',
    [
      schemaOf({ a: { $ref: '#/definitions/a' }, b: text }, [], { definitions: { a: text } }),
      schemaOf({ a: { $ref: '#/definitions/a' }, b: text }, [], { definitions: { a: number } }),
    ],
    schemaOf({ b: text }),
    {},
  ],
  [
    'references to other properties, where these are common',
    [
      schemaOf({ a: text, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/b' } }),
      schemaOf({ a: text, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/b' } }),
    ],
    schemaOf({ a: text, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/b' } }),
    {},
  ],
  [
    'no references to properties that are not common',
    [
      schemaOf({ a: text, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/b' }, d: text }),
      schemaOf({
        a: number,
        b: { $ref: '#/properties/a' },
        c: { $ref: '#/properties/b' },
        d: text,
      }),
    ],
    schemaOf({ d: text }),
    {},
  ],
  ['nothing of schemas that are none', [true, schemaOf({ q: text }), undefined], schemaOf({}), {}],
] as const)('the schema has %s', ([, schemas, inputSchema, unusable]) => {
  assert.deepEqual(common(...schemas), { inputSchema, unusable });
});

test('a tool with thousands of properties is read in time', () => {
  const numbers = Array.from({ length: 5_000 }, (_, number) => number);
  const made = (refer: (number: number) => string) =>
    Object.fromEntries(numbers.map(number => [`p${number}`, { $ref: refer(number) }]));
  // Each property refers to the next. The last reference leads nowhere, so none of them is valid.
  const chain = schemaOf(made(number => `#/properties/p${number + 1}`));
  const $defs = Object.fromEntries(numbers.map(number => [`d${number}`, text]));
  const defined = made(number => `#/$defs/d${number}`);
  const alike = schemaOf(defined, Object.keys(defined), { $defs });
  // CPU time of this process, so that other load on the machine does not count.
  const started = process.cpuUsage();
  assert.deepEqual(common(chain).inputSchema, schemaOf({}));
  assert.deepEqual(common(alike, structuredClone(alike)).inputSchema, alike);
  const { user, system } = process.cpuUsage(started);
  assert.ok((user + system) / 1_000 < 2_000);
});
