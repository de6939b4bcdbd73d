import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { pathText } from '../../hub/config/problem.ts';
import {
  type SecretValues,
  createVariables,
  expandServer,
  mergeEnvironment,
  secretsOfEntry,
  secretUsesIn,
  variablesIn,
} from '../../hub/config/variables.ts';

const env = { HOST: 'localhost', EMPTY: '', A_1: 'one', NESTED: '${HOST}', undefined: undefined };

const noSecrets: SecretValues = new Map();

/** Expands the variables in a string, as the command of a server. */
const expand = (text: string) => expandServer({ command: text }, [], env, noSecrets);

describe('a text with variables', () => {
  test.for([
    ['plain', 'plain'],
    ['', ''],
    ['${HOST}', 'localhost'],
    ['http://${HOST}:80/${A_1}', 'http://localhost:80/one'],
    ['${NOPE:-fallback}', 'fallback'],
    ['${NOPE:-}', ''],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${HOST:-fallback}', 'localhost'],
    ['${NOPE:-a:-b $HOST}', 'a:-b $HOST'],
    ['${NOPE:-two\nlines}', 'two\nlines'],
    ['$HOST', '$HOST'],
    ['$', '$'],
    ['$$', '$'],
    ['$${HOST}', '${HOST}'],
    ['$$${HOST}', '$localhost'],
    ['{"a": "${HOST}"}', '{"a": "localhost"}'],
    // The value of a variable is not expanded again.
    ['${NESTED}', '${HOST}'],
  ] as const)('%j becomes %j', ([text, expected]) => {
    const { value, problems } = expand(text);
    assert.deepEqual({ value, problems }, { value: { command: expected }, problems: [] });
  });
});

describe('a text with variables is refused', () => {
  test.for([
    ['${NOPE}', 'the variable NOPE is not set'],
    ['${EMPTY}', 'the variable EMPTY is not set'],
    ['${undefined}', 'the variable undefined is not set'],
    ['${toString}', 'the variable toString is not set'],
    ['${}', '${} is not a variable'],
    ['${1A}', '${1A} is not a variable'],
    ['${ HOST }', '${ HOST } is not a variable'],
    ['${HOST-x}', '${HOST-x} is not a variable'],
    ['${env:HOST}', '${env:HOST} is not a variable'],
    ['${HOST', '"${" without its "}"'],
    ['${NOPE:-${HOST}}', '"${" without its "}"'],
  ] as const)('%j: %s', ([text, start]) => {
    const { value, problems } = expand(text);
    assert.ok(problems[0]?.text.startsWith(start), JSON.stringify(problems));
    assert.deepEqual(value, { command: text });
  });

  test('with every missing variable and its path', () => {
    const entry = { command: '${A}', args: ['x', '${B}${C}'], env: { KEY: '${D}' } };
    const { problems, unresolved } = expandServer(entry, ['servers', 'one'], {}, noSecrets);
    assert.deepEqual(
      problems.map(({ path, text }) => `${pathText(path)} ${/variable (\w)/.exec(text)?.[1]}`),
      [
        'servers.one.command A',
        'servers.one.args[1] B',
        'servers.one.args[1] C',
        'servers.one.env.KEY D',
      ],
    );
    assert.deepEqual(
      [...unresolved],
      ['servers.one.command', 'servers.one.args[1]', 'servers.one.env.KEY'],
    );
  });
});

test('the message about a long name shortens it', () => {
  for (const text of [`\${${'X'.repeat(100_000)}}`, `\${?${'X'.repeat(100_000)}}`])
    for (const { text: message } of expand(text).problems) assert.ok(message.length < 400, message);
});

test('variables are expanded only where a server uses them', () => {
  const every = {
    command: '${HOST}',
    args: ['${HOST}'],
    env: { A: '${HOST}' },
    url: '${HOST}',
    headers: { A: '${HOST}' },
    cwd: '${HOST}',
    mounts: ['${HOST}', { source: '${HOST}', read_only: true }],
    image: '${HOST}',
    package: '${HOST}',
    description: '${HOST}',
  };
  assert.deepEqual(expandServer(every, [], env, noSecrets).value, {
    command: 'localhost',
    args: ['localhost'],
    env: { A: 'localhost' },
    url: 'localhost',
    headers: { A: 'localhost' },
    cwd: 'localhost',
    mounts: ['localhost', { source: 'localhost', read_only: true }],
    image: 'localhost',
    package: '${HOST}',
    description: '${HOST}',
  });
});

describe('secrets', () => {
  const secrets: SecretValues = new Map([
    ['KEY', { value: 'hunter2' }],
    ['db-pass.1', { value: '${HOST}$$' }],
    ['LOCKED', { fault: 'secret LOCKED cannot be read: the keychain is locked. Unlock it' }],
  ]);
  const expandSecret = (text: string) => expandServer({ command: text }, [], env, secrets);

  test.for([
    ['${secret:KEY}', 'hunter2'],
    ['Bearer ${secret:KEY}@${HOST}', 'Bearer hunter2@localhost'],
    ['$${secret:KEY}', '${secret:KEY}'],
    // The value of a secret is not expanded again.
    ['${secret:db-pass.1}', '${HOST}$$'],
    ['${secret:NOPE:-fallback}', 'fallback'],
    ['${secret:KEY:-fallback}', 'hunter2'],
  ] as const)('%j becomes %j', ([text, expected]) => {
    const { value, problems, secretFaults } = expandSecret(text);
    assert.deepEqual(value, { command: expected });
    assert.deepEqual([...problems, ...secretFaults], []);
  });

  test.for([
    ['${secret:HOST}', 'secret HOST is not set. Run agenthub secret set HOST'],
    ['${secret:LOCKED}', 'secret LOCKED cannot be read: the keychain is locked. Unlock it'],
    // A default applies to a secret that is not set, not to one that cannot be read.
    ['${secret:LOCKED:-x}', 'secret LOCKED cannot be read: the keychain is locked. Unlock it'],
  ] as const)('%j cannot be read, which is not a problem of the file', ([text, fault]) => {
    const { value, problems, secretFaults, unresolved } = expandSecret(text);
    assert.deepEqual(value, { command: text });
    assert.deepEqual(problems, []);
    assert.deepEqual(secretFaults, [{ path: ['command'], text: fault }]);
    assert.deepEqual([...unresolved], ['command']);
  });

  test.for(['${secret:}', '${secret:../x}', '${secret:a b}', '${Secret:KEY}', '${secret:.x}'])(
    '%j is not a reference',
    text => {
      assert.match(
        expandSecret(text).problems[0]?.text ?? '',
        /is not a variable: write .*secret:/,
      );
    },
  );

  test('are found where variables are expanded, and distinguished from variables', () => {
    const entry = {
      args: ['${secret:A}', '$${secret:B}'],
      env: { X: '${C}${secret:A:-1}${secret:D}' },
    };
    assert.deepEqual(secretsOfEntry({ ...entry, description: '${secret:E}' }), ['A', 'D']);
    assert.deepEqual(variablesIn(entry.env.X), ['C', 'secret:A', 'secret:D']);
  });

  test('are known to have a default if every reference has one', () => {
    assert.deepEqual(secretUsesIn('${secret:A:-1} ${secret:A} ${secret:B:-}', 'token'), [
      { secret: 'A', path: 'token' },
      { secret: 'B', path: 'token', hasDefault: true },
    ]);
  });
});

test('the environment overrides the .env file', () => {
  assert.deepEqual(mergeEnvironment({ A: '1' }, 'A=2\nB=3\n'), { A: '1', B: '3' });
});

test('values are trimmed, and an empty value counts as not set', () => {
  const variables = createVariables({
    A: ' a ',
    B: ' ',
    LIST: 'a, b,,',
    PORT: '80',
    LEVEL: 'Warn',
  });
  assert.equal(variables.text('A'), 'a');
  assert.equal(variables.text('B'), undefined);
  assert.equal(variables.text('toString'), undefined);
  assert.deepEqual(
    variables.list('LIST', () => true, ''),
    ['a', 'b'],
  );
  assert.deepEqual(
    variables.list('B', () => true, ''),
    [],
  );
  assert.equal(variables.number('PORT', 1, 65_535), 80);
  assert.equal(variables.number('B', 1, 2), undefined);
  assert.equal(variables.choice('LEVEL', ['info', 'warn']), 'warn');
  variables.done();
});

test('all problems are reported at once, without values that may be secret', () => {
  const variables = createVariables({
    TEXT: 'x'.repeat(100),
    PORT: '80.5',
    BIG: '3',
    LEVEL: 'loud',
    KEY: 'hunter2',
    PLAIN: 'ftp://host:21/x',
    URL: 'http://user:hunter2@host',
    LIST: 'a,b',
  });
  variables.text('TEXT', () => false, 'less');
  variables.number('PORT', 1, 65_535);
  variables.number('BIG', 0, 2.5, 'fraction');
  variables.choice('LEVEL', ['info', 'warn']);
  variables.secret('KEY', /^.{16,}$/, 'at least 16 characters');
  variables.address('PLAIN', () => false, 'an address');
  variables.address('URL', () => false, 'an address');
  variables.list('LIST', value => value === 'a', 'a');
  variables.fail('OTHER', 'is wrong');
  assert.throws(() => variables.done(), {
    code: 'HUB_CONFIG_INVALID',
    message: [
      `TEXT: "${'x'.repeat(60)}" is not allowed. Write less`,
      'PORT: "80.5" is not allowed. Write a whole number from 1 to 65535',
      'BIG: "3" is not allowed. Write a number from 0 to 2.5',
      'LEVEL: "loud" is not allowed. Write info, warn',
      'KEY: the value (not shown) is not allowed. Write at least 16 characters',
      'PLAIN: "ftp://host:21/x" is not allowed. Write an address',
      'URL: the value (not shown) is not allowed. Write an address',
      'LIST: "b" is not allowed. Write a',
      'OTHER: is wrong',
    ].join('\n'),
  });
});
