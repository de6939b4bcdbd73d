import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { hubText, readClientEntry } from '../../../hub/clients/client/entry.ts';

const folders = { home: '/home/ada', folder: '/work/$x' };

describe('a client with ${NAME}', () => {
  test.each([
    ['plain', 'plain', true],
    ['${TOKEN}', '${TOKEN}', false],
    ['a ${TOKEN:-none} b', 'a ${TOKEN:-none} b', false],
    ['${env:TOKEN}', '$${env:TOKEN}', true],
    ['costs $5 or $$', 'costs $5 or $$$', true],
  ])('%s becomes %s', (text, expected, isLiteral) => {
    assert.deepEqual(hubText(text, 'claude-code', folders), { text: expected, isLiteral });
  });
});

describe('a client with ${env:NAME}', () => {
  test.each([
    ['${env:token}', '${token}', false],
    ['${TOKEN}', '${TOKEN}', false],
    ['${userHome}/a', '/home/ada/a', true],
    ['${workspaceFolder}/a', '/work/$x/a', true],
  ])('%s becomes %s', (text, expected, isLiteral) => {
    assert.deepEqual(hubText(text, 'vscode', folders), { text: expected, isLiteral });
  });

  test('names the variable that only the client knows', () => {
    assert.deepEqual(hubText('${env:A} ${input:key} ${input:other}', 'cursor', folders), {
      unknown: '${input:key}',
    });
  });
});

test('a client without variables means its text literally', () => {
  assert.deepEqual(hubText('${TOKEN} $1', 'codex', folders), {
    text: '$${TOKEN} $1',
    isLiteral: true,
  });
});

test.for([
  ['claude-code', 'cost$${PRICE}', 'cost$$${PRICE}', false],
  ['claude-code', 'x$${not one}', 'x$$$${not one}', true],
  ['vscode', '$${env:PRICE}$', '$$${PRICE}$', false],
] as const)(
  'in %s a dollar sign before a variable stays one: %s',
  ([client, text, expected, isLiteral]) => {
    assert.deepEqual(hubText(text, client, folders), { text: expected, isLiteral });
  },
);

test.for([
  [
    ['echo', 'add'],
    ['echo', 'add'],
  ],
  [['*'], undefined],
  [undefined, undefined],
] as const)('an entry of GitHub Copilot with the tools %j allows %j', ([tools, expected]) => {
  const entry = readClientEntry({ type: 'local', command: 'npx', tools }, 'claude-code');
  assert.deepEqual('why' in entry ? entry : entry.allowedTools, expected);
});
