import assert from 'node:assert/strict';
import {
  PromptSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { isRefusedBy } from '#servers';
import { faultsOf } from '../../../hub/servers/listing/item-faults.ts';

const icon = {
  src: 'https://example.com/i.png',
  mimeType: 'image/png',
  sizes: ['any'],
  theme: 'dark',
};
const common = { name: 'n', title: 't', description: 'd', icons: [icon], _meta: { a: 1 } };
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-07-28T12:00:00Z' };
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
};

/** For each kind, an item with every member of the schemas, and the SDK's schema of 2025-11-25 for it. */
const kinds = {
  tool: {
    schema: ToolSchema,
    item: {
      ...common,
      inputSchema: schema,
      outputSchema: schema,
      annotations: {
        title: 't',
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: true,
      },
      execution: { taskSupport: 'optional' },
    },
  },
  resource: {
    schema: ResourceSchema,
    item: { ...common, uri: 'test://a', mimeType: 'text/plain', size: 1, annotations },
  },
  template: {
    schema: ResourceTemplateSchema,
    item: { ...common, uriTemplate: 'test://{a}', mimeType: 'text/plain', annotations },
  },
  prompt: {
    schema: PromptSchema,
    item: { ...common, arguments: [{ name: 'a', title: 't', description: 'd', required: true }] },
  },
} as const;

const missing = Symbol('missing');
const odd: readonly unknown[] = [
  missing,
  null,
  1,
  1.5,
  -1,
  true,
  'x',
  '',
  [],
  {},
  [1],
  [null],
  { a: 1 },
  { type: 'array' },
];

/** Yields variants of the value: at each place in it, each odd value in turn. */
function* changed(value: unknown): Generator<unknown> {
  yield* odd;
  if (Array.isArray(value))
    for (const [at, inner] of value.entries())
      for (const other of changed(inner))
        yield value.flatMap((one: unknown, index) =>
          index !== at ? [one] : other === missing ? [] : [other],
        );
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value))
      for (const other of changed(inner)) {
        const { [name]: _, ...rest } = value;
        yield other === missing ? rest : { ...rest, [name]: other };
      }
}

/** Members at which the schema of MCP refuses values that the SDK accepts. */
const stricter =
  /^(uri|size|arguments\[0\]\.title|(in|out)putSchema\.(\$schema|properties\.a)|\w+Schema\.properties) /;

describe.for(Object.entries(kinds))('items of the kind %s', ([name, { item, schema: ofSdk }]) => {
  const kind = name === 'tool' || name === 'resource' || name === 'prompt' ? name : 'template';
  const faultsAt = (value: unknown, revision: string) =>
    faultsOf(kind, value, false).filter(fault => isRefusedBy(revision, [fault]));

  test('are refused by no revision if they are valid', () => {
    assert.deepEqual(faultsOf(kind, item, false), []);
  });

  test('are refused exactly if the client of the SDK refuses them, except for what only the schema forbids', () => {
    let count = 0;
    for (const value of changed(item)) {
      if (value === missing) continue;
      count++;
      const faults = faultsAt(value, '2025-11-25');
      const isTaken = ofSdk.safeParse(value).success;
      const text = `${JSON.stringify(value)}: ${JSON.stringify(faults)}`;
      if (!isTaken) assert.ok(faults.length > 0, `the SDK refuses ${text}`);
      else
        assert.ok(
          faults.every(fault => stricter.test(fault.text)),
          `the SDK takes ${text}`,
        );
    }
    assert.ok(count > 100);
  });
});

describe('a revision does not refuse unknown members', () => {
  const refusing = (item: object, isWrapped = false) =>
    ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'].filter(revision =>
      isRefusedBy(
        revision,
        faultsOf('tool', { name: 'n', inputSchema: { type: 'object' }, ...item }, isWrapped),
      ),
    );

  test.for([
    [
      'annotations',
      { annotations: null },
      ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'],
    ],
    ['a title', { title: null }, ['2025-06-18', '2025-11-25', '2026-07-28']],
    ['icons', { icons: null }, ['2025-11-25', '2026-07-28']],
    ['execution, which came and went', { execution: null }, ['2025-11-25']],
    [
      'an output schema that is none',
      { outputSchema: null },
      ['2025-06-18', '2025-11-25', '2026-07-28'],
    ],
    [
      'one of another type, of a server of the same era',
      { outputSchema: { type: 'array' } },
      ['2025-06-18', '2025-11-25'],
    ],
  ] as const)('%s', ([, item, revisions]) => {
    assert.deepEqual(refusing(item), revisions);
  });

  test('an output schema of another type is valid for all once it is wrapped', () => {
    assert.deepEqual(refusing({ outputSchema: { type: 'array' } }, true), []);
    assert.deepEqual(refusing({ outputSchema: { $schema: 1 } }, true), ['2026-07-28']);
  });

  test('no value is shown, as it may be secret, and no more than five faults', () => {
    const faults = faultsOf('prompt', { name: 7, description: ['secret'] }, false);
    assert.deepEqual(
      faults.map(({ text }) => text),
      ['name is a number; it must be a string', 'description is an array; it must be a string'],
    );
    assert.equal(faultsOf('tool', { ...common, icons: Array(50).fill(null) }, false).length, 5);
  });
});
