import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readParamHeaders } from '#mcp';

const read = (inputSchema?: object) =>
  readParamHeaders(Buffer.from(JSON.stringify({ name: 't', inputSchema })));
const properties = (of: object) => read({ type: 'object', properties: of });
const region = { type: 'string', 'x-mcp-header': 'Region' };

describe('the headers that a tool declares', () => {
  test('are none if nothing is declared', () => {
    const none = { valid: true, headers: [] };
    assert.deepEqual(read(), none);
    assert.deepEqual(read({ type: 'object' }), none);
    assert.deepEqual(properties({ region: { type: 'string' } }), none);
  });

  test('are those of its arguments and of nested arguments', () => {
    assert.deepEqual(
      properties({
        region,
        query: { type: 'string' },
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
        options: {
          type: 'object',
          properties: { limit: { type: 'integer', 'x-mcp-header': 'Limit' } },
        },
      }),
      {
        valid: true,
        headers: [
          { header: 'Mcp-Param-Region', path: ['region'] },
          { header: 'Mcp-Param-Dry', path: ['dry'] },
          { header: 'Mcp-Param-Limit', path: ['options', 'limit'] },
        ],
      },
    );
  });

  test('are not taken from properties or descriptions that only mention the keyword', () => {
    assert.deepEqual(properties({ 'x-mcp-header': { type: 'string' } }), {
      valid: true,
      headers: [],
    });
    const text = { type: 'string', description: 'goes into the x-mcp-header' };
    assert.deepEqual(properties({ region: text }), { valid: true, headers: [] });
    assert.deepEqual(properties({ region: { type: 'string', default: region } }), {
      valid: true,
      headers: [],
    });
  });

  const refused: readonly (readonly [string, object])[] = [
    ['an empty name', { value: { type: 'string', 'x-mcp-header': '' } }],
    ['a name with a space', { value: { type: 'string', 'x-mcp-header': 'My Region' } }],
    ['a name with a colon', { value: { type: 'string', 'x-mcp-header': 'Region:Primary' } }],
    ['a name beyond ASCII', { value: { type: 'string', 'x-mcp-header': 'Région' } }],
    ['a name with a control character', { value: { type: 'string', 'x-mcp-header': 'Region\t1' } }],
    ['a name with a line break', { value: { type: 'string', 'x-mcp-header': 'Region\r\nX: y' } }],
    ['a name that is no string', { value: { type: 'string', 'x-mcp-header': 7 } }],
    ['an object', { value: { type: 'object', 'x-mcp-header': 'Data' } }],
    ['an array', { value: { type: 'array', 'x-mcp-header': 'Items' } }],
    ['null', { value: { type: 'null', 'x-mcp-header': 'Nil' } }],
    ['a number', { value: { type: 'number', 'x-mcp-header': 'Score' } }],
    ['a value of several types', { value: { type: ['string', 'null'], 'x-mcp-header': 'Nil' } }],
    ['a value of no type', { value: { 'x-mcp-header': 'Any' } }],
    ['a name twice', { a: region, b: region }],
    ['a name twice in another case', { a: region, b: { ...region, 'x-mcp-header': 'REGION' } }],
    ['the elements of an array', { value: { type: 'array', items: region } }],
    ['one of several schemas', { value: { oneOf: [{ type: 'null' }, region] } }],
    ['properties of a choice', { value: { anyOf: [{ properties: { region } }] } }],
    ['further properties', { value: { type: 'object', additionalProperties: region } }],
    ['properties by pattern', { value: { type: 'object', patternProperties: { '^r': region } } }],
  ];
  for (const [what, of] of refused)
    test(`are refused with ${what}`, () => {
      const headers = properties(of);
      assert.ok(!headers.valid);
      assert.match(headers.reason, /x-mcp-header/);
    });

  test('are refused on the schema itself, in definitions and under conditions', () => {
    for (const schema of [
      { type: 'string', 'x-mcp-header': 'All' },
      { $defs: { region } },
      { if: { properties: { region } } },
    ])
      assert.equal(read(schema).valid, false, JSON.stringify(schema));
  });

  test('are refused with a reason that names the parameter', () => {
    assert.deepEqual(
      properties({ options: { properties: { value: { ...region, type: 'number' } } } }),
      {
        valid: false,
        reason:
          'options.value: x-mcp-header is for string, integer, boolean, and the type is "number"',
      },
    );
  });
});
