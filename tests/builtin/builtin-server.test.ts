import assert from 'node:assert/strict';
import { test } from 'vitest';
import { z } from 'zod';
import { describeArguments, parseArguments } from '../../hub/builtin/builtin-server.ts';

const schema = z.strictObject({
  server: z.string().describe('Which one.'),
  lines: z.int().min(1).max(10).default(5),
});
const texts = z.strictObject({ text: z.string().min(1).max(3), force: z.boolean().optional() });

test('arguments are validated, and get their defaults', () => {
  assert.deepEqual(parseArguments(schema, { server: 'echo' }), { server: 'echo', lines: 5 });
  assert.deepEqual(parseArguments(z.strictObject({}), undefined), {});
});

test.each([
  [undefined, 'server: is missing: write a string'],
  [{ server: 3 }, 'server: write a string, not 3'],
  [{ server: { a: 'x'.repeat(100) } }, /^server: write a string, not \{"a":"x{54}\.\.\.$/],
  [{ server: 'echo', lines: 0 }, 'lines: 0 is too small: write 1 or more'],
  [{ server: 'echo', lines: 11 }, 'lines: 11 is too large: write 10 or less'],
  [{ server: 'echo', lines: 1.5 }, 'lines: write a whole number, not 1.5'],
  [
    { server: 'echo', all: true },
    'all: is not an argument; the arguments are "server" and "lines"',
  ],
  [
    { server: 'echo', ['x'.repeat(1_000)]: true },
    `${'x'.repeat(60)}...: is not an argument; the arguments are "server" and "lines"`,
  ],
  ['echo', 'arguments: write an object, not "echo"'],
])('%j is refused with field, value and remedy', (given, message) => {
  assert.throws(() => parseArguments(schema, given), { code: 'HUB_REQUEST_INVALID', message });
});

test.each([
  [{ text: '' }, 'text: must not be empty'],
  [{ text: 'four' }, 'text: "four" is too long: write at most 3 characters'],
  [{ text: 'a', force: 'yes' }, 'force: write true or false, not "yes"'],
])('text arguments in %j are refused with field and remedy', (given, message) => {
  assert.throws(() => parseArguments(texts, given), { code: 'HUB_REQUEST_INVALID', message });
});

test('a refused value that is cut within a surrogate pair is shown as valid Unicode', () => {
  assert.throws(() => parseArguments(schema, { server: ['😀'.repeat(50)] }), {
    message: /^server: write a string, not \["(?:😀){29}😀?\.\.\.$/u,
  });
  assert.throws(() => parseArguments(schema, { server: [`x${'😀'.repeat(50)}`] }), {
    message: /^server: write a string, not \["x(?:😀){28}\uFFFD\.\.\.$/u,
  });
});

test('a tool without arguments says that it has none', () => {
  assert.throws(() => parseArguments(z.strictObject({}), { all: true }), {
    message: 'all: is not an argument; leave it out, as there are none',
  });
});

test('the schema is the JSON Schema that clients expect', () => {
  assert.deepEqual(describeArguments(schema), {
    type: 'object',
    properties: {
      server: { type: 'string', description: 'Which one.' },
      lines: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
    },
    required: ['server'],
    additionalProperties: false,
  });
});
