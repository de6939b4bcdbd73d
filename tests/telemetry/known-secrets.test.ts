import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createKnownSecrets } from '#telemetry';

describe('known as a secret of a config is', () => {
  const known = (launch: object, variables = {}, settings: readonly string[] = []) =>
    createKnownSecrets(() => [{ launch }], { variables, settings })();

  test('a secret that was read, wherever the config uses it', () => {
    let values: readonly string[] = [];
    const configs = [{ launch: { args: ['production'] } }];
    const own = { variables: {}, settings: [], read: () => values };
    const secrets = createKnownSecrets(() => configs, own);
    assert.deepEqual(secrets(), []);
    values = ['production', 'short'];
    assert.deepEqual(secrets(), ['production']);
    values = ['development'];
    assert.deepEqual(secrets(), ['development', 'production'], 'older values are kept');
    assert.equal(secrets(), secrets(), 'the same array until something changes');
  });

  test.for([
    ['a variable under a telling name', { env: { API_KEY: 'production' } }, ['production']],
    ['one that looks like no ordinary setting', { env: { ANY: 'abc-123-xyz' } }, ['abc-123-xyz']],
    ['a long word', { env: { ANY: 'correcthorsebatterystaple' } }, ['correcthorsebatterystaple']],
    [
      'the password in an address',
      { env: { ANY: 'https://u:pass%2Fword@h' } },
      ['https://u:pass%2Fword@h', 'pass%2Fword', 'pass/word'],
    ],
    ['the client secret of a login', { oauth: { client_secret: 'production' } }, ['production']],
    ['a header', { headers: { 'x-any': 'Bearer abc-def' } }, ['Bearer abc-def']],
    [
      'what follows an option',
      { args: ['--token', 'abcdefgh', '--key-file', '/etc/file'] },
      ['abcdefgh'],
    ],
    ['what an option is set to', { args: ['--token=abcdefgh'] }, ['abcdefgh']],
    ['a variable that an option passes on', { args: ['-e', 'API_TOKEN=abcdefgh'] }, ['abcdefgh']],
    ['one in the same argument', { args: ['--set=API_TOKEN=a=bcdefgh'] }, ['a=bcdefgh']],
    [
      'the password in an address that an option passes on',
      { args: ['-e', 'DATABASE=pg://u:abcdefgh@h'] },
      ['abcdefgh'],
    ],
    [
      'a header that an option passes on',
      { args: ['--header', 'X-Api-Key: abcdefgh'] },
      ['abcdefgh'],
    ],
    ['a key in the query of an address', { url: 'https://h/?api_key=abcdefgh' }, ['abcdefgh']],
    ['one of which the name says no more', { url: 'https://h/?key=abcdefgh' }, ['abcdefgh']],
    ['a password that is no valid encoding', { url: 'https://u:100%password@h' }, ['100%password']],
    [
      'an address in an option of another name',
      { args: ['--db', 'pg://u:abcdefgh@h'] },
      ['abcdefgh'],
    ],
  ] as const)('%s', ([, launch, values]) => {
    assert.deepEqual(known(launch), values);
  });

  test.for([
    'production',
    '/data/memory.json',
    'https://host:80/path',
    '3000',
    'node_modules',
    'en_US.UTF-8',
    'short-1',
  ])('no ordinary setting: %s', value => {
    assert.deepEqual(known({ env: { SETTING: value } }), []);
  });

  test.for([
    ['a flag before a value of a secret', ['--verbose', 'abcdefgh']],
    ['a variable of another name', ['-e', 'LOG_LEVEL=everything']],
    ['what follows no option', ['token', 'abcdefgh']],
    ['a name without a value', ['-e', 'API_TOKEN']],
    ['a value that is too short', ['--token=abcdefg']],
    ['an address without a password', ['https://u@host/token']],
  ] as const)('no harmless argument: %s', ([, args]) => {
    assert.deepEqual(known({ args }), []);
  });

  test('no working folder: PWD is not a password', () => {
    assert.deepEqual(known({}, { PWD: '/home/ada/hub', OLDPWD: '/home/ada' }), []);
  });

  test('a variable with a secret name, and the secret settings of the hub', () => {
    const settings = ['a-token-of-the-hub', 'redis://:its-password@host'];
    assert.deepEqual(known({}, { GH_PAT: 'abcdefgh', PATH: '/usr/bin:/bin' }, settings), [
      'abcdefgh',
      'a-token-of-the-hub',
      'its-password',
    ]);
  });
});

describe('the list of known secrets', () => {
  const nothing = { variables: {}, settings: [] };
  const configOf = (...values: readonly string[]) =>
    values.map(value => ({ launch: { env: { API_KEY: value } } }));

  test('is read again only for other configs', () => {
    const configs = configOf('abcdefgh');
    const known = createKnownSecrets(() => configs, nothing);
    const before = known();
    configs.push(...configOf('ijklmnop'));
    assert.equal(known(), before);
  });

  test('has the newest first, each once, and no more than 2,000', () => {
    const named = (prefix: string) =>
      Array.from({ length: 1_500 }, (_, number) => `${prefix}-value-${number}`);
    let configs = configOf(...named('first'));
    const known = createKnownSecrets(() => configs, nothing);
    known();
    configs = configOf(...named('second'), 'first-value-1499');
    const values = known();
    assert.equal(values.length, 2_000);
    assert.deepEqual(values.slice(1_499, 1_502), [
      'second-value-1499',
      'first-value-1499',
      'first-value-0',
    ]);
  });
});
