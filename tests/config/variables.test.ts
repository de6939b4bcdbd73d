import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createVariables, mergeEnvironment } from '../../hub/config/variables.ts';

test('the environment goes before the .env file', () => {
  assert.deepEqual(mergeEnvironment({ A: '1' }, 'A=2\nB=3\n'), { A: '1', B: '3' });
});

test('values are trimmed, and an empty one is not set', () => {
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

test('all problems are told at once, without what may be secret', () => {
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
