import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createFilling } from '../../hub/installs/filling.ts';
import type { Argument, Input, NamedInput } from '../../hub/installs/server-json.ts';

type Given = Readonly<Record<string, string>>;

describe('a value with placeholders', () => {
  const filled = (input: Input, variables: Given = {}) => {
    const filling = createFilling(variables);
    return { text: filling.fill('url', input), ...filling.filled };
  };

  test.for([
    ['literally', { value: 'a$b' }, {}, 'a$$b'],
    ['with what is given', { value: '{a}-{a}', variables: { a: {} } }, { a: '${X}' }, '${X}-${X}'],
    ['with the default', { value: '{a}', variables: { a: { default: '$1' } } }, {}, '$$1'],
    ['with a fixed value', { value: '{a}', variables: { a: { value: '$1' } } }, { a: 'x' }, '$$1'],
    ['with braces that name nothing', { value: '{b}{a }', variables: { a: {} } }, {}, '{b}{a }'],
    ['not, if an optional one is missing', { value: 'x{a}', variables: { a: {} } }, {}, undefined],
    ['not by inherited names', { value: '{toString}', variables: { toString: {} } }, {}, undefined],
  ] as const)('is replaced %s', ([, input, given, expected]) => {
    assert.deepEqual(filled(input, given), { text: expected, missing: [], secrets: [] });
  });

  test('reports required values that are missing, each once, its own and those of its parts', () => {
    const variables = { a: { isRequired: true, isSecret: true, description: 'the key' }, b: {} };
    const input = { value: '{a}{a}{b}', variables, isRequired: true };
    assert.deepEqual(filled(input).missing, [
      { path: 'variables.a', description: 'the key', isSecret: true },
      { path: 'variables.b', description: '', isSecret: false },
    ]);
  });
});

describe('a value that is not one of the choices', () => {
  const filling = (value: string, input: Input) =>
    createFilling({ a: value }).fill('url', { value: '{a}', variables: { a: input } });

  test('is refused, and not shown if it is a secret', () => {
    assert.throws(() => filling('s3cret', { choices: ['b', 'c'], isSecret: true }), {
      code: 'HUB_REQUEST_INVALID',
      message: 'variables.a: its value is not allowed: write "b" or "c"',
    });
  });

  test.for([
    ['b', { choices: ['b'] }],
    ['${B}', { choices: ['b'] }],
    ['any', { choices: [] }],
  ] as const)('is accepted as %s for %j', ([value, input]) => {
    assert.equal(filling(value, input), value);
  });
});

describe('variables and headers', () => {
  const named = (
    part: 'env' | 'headers',
    inputs: readonly NamedInput[],
    given: Given = {},
    variables: Given = {},
  ) => {
    const filling = createFilling(variables);
    return { values: filling.named(part, inputs, given), secrets: filling.filled.secrets };
  };

  test('of the caller take precedence, even over those in "variables"', () => {
    const inputs = [{ name: 'A', default: 'x' }, { name: 'B', default: '$' }, { name: 'C' }];
    assert.deepEqual(named('env', inputs, { A: '1', D: '$2' }, { C: '3' }).values, {
      A: '1',
      B: '$$',
      C: '3',
      D: '$2',
    });
  });

  test('are compared case-insensitively only if they are headers', () => {
    const inputs = [{ name: 'X-Key', default: 'x' }];
    assert.deepEqual(named('headers', inputs, { 'x-key': '1' }).values, { 'X-Key': '1' });
    assert.deepEqual(named('env', inputs, { 'x-key': '1' }).values, { 'X-Key': 'x', 'x-key': '1' });
  });

  test('are secret if they, or a part of them, are secret and have a value', () => {
    const inputs = [
      { name: 'A', isSecret: true, default: 'x' },
      { name: 'B', value: 'x{k}', variables: { k: { isSecret: true, default: 'y' } } },
      { name: 'C', isSecret: true },
      { name: 'D', default: 'x' },
    ];
    assert.deepEqual(named('env', inputs).secrets, ['env.A', 'env.B']);
  });

  test('are refused if they are not one of the choices', () => {
    assert.throws(
      () => named('headers', [{ name: 'Region', choices: ['eu'] }], { region: 'us' }),
      /^HubError: headers\.Region: "us" is not allowed: write "eu"$/,
    );
  });
});

describe('arguments', () => {
  const args = (input: Argument, variables: Given = {}) => {
    const filling = createFilling(variables);
    return { args: filling.args([input]), missing: filling.filled.missing };
  };
  const option = { type: 'named', name: '--o' } as const;

  test.for([
    ['an option with its value', { ...option, default: 'x' }, {}, ['--o', 'x']],
    ['an option without a value', { ...option, value: '' }, {}, ['--o']],
    ['no option without anything', option, {}, []],
    ['a switch that is on', { ...option, format: 'boolean' }, { '--o': 'true' }, ['--o']],
    ['no switch that is off', { ...option, format: 'boolean', default: 'false' }, {}, []],
    [
      'what is given in place of a value',
      { ...option, value: 'x' },
      { '--o': '${Y}' },
      ['--o', '${Y}'],
    ],
    ['a word by its hint', { type: 'positional', valueHint: 'h' }, { h: 'x' }, ['x']],
    ['a word by its name', { type: 'positional', name: 'n' }, { n: 'x' }, ['x']],
    ['an option without a name as a word', { type: 'named', value: 'x' }, {}, ['x']],
    [
      'its name literally',
      { ...option, name: '--k=${A}', value: '${B}' },
      {},
      ['--k=$${A}', '$${B}'],
    ],
    ['the name of a switch literally', { ...option, name: '${A}', value: '' }, {}, ['$${A}']],
  ] as const)('are %s', ([, input, given, expected]) => {
    assert.deepEqual(args(input, given), { args: expected, missing: [] });
  });

  test('that are required and have no name are reported by their index', () => {
    const filling = createFilling({});
    const word = { type: 'positional', isRequired: true } as const;
    filling.args([{ ...word, value: 'x' }, word]);
    assert.deepEqual(
      filling.filled.missing.map(({ path }) => path),
      ['args[1]'],
    );
  });
});
