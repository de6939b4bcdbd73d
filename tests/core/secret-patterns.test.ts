import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isPlaceholder, isSecretName, isUserAndPassword, mentionsSecret } from '#core';

describe('the name of a secret', () => {
  test.each([
    'GITHUB_TOKEN',
    'githubToken',
    '--api-key',
    'X-Api-Key',
    'DATABASE_PASSWORD',
    'Authorization',
    'aws.secretAccessKey',
    'HEADERS',
  ])('matches %s', name => {
    assert.ok(isSecretName(name));
    assert.ok(mentionsSecret(name));
  });

  test.each(['next_page_token', 'maxTokens', 'cursorToken', 'HOME', 'compass', 'author'])(
    'does not match %s',
    name => assert.ok(!isSecretName(name)),
  );

  test.each(['GITHUB_TOKEN_FILE', 'SSH_KEY', 'NPM_AUTH'])('is mentioned in %s', name =>
    assert.ok(mentionsSecret(name)),
  );

  test.each(['HOME', 'keyboard', 'PORT', 'PATH', 'MEMORY_FILE_PATH', '--db-path', 'pattern'])(
    'is not mentioned in %s',
    name => assert.ok(!mentionsSecret(name)),
  );
});

test.each(['string', 'process.env.TOKEN', '<your-key>', '...', 'changeme', '${TOKEN}', 'null)'])(
  '%s is a placeholder',
  value => assert.ok(isPlaceholder(value)),
);

test.each(['s3cr3t-value', 'correct-horse', 'hunter2'])('%s is not a placeholder', value =>
  assert.ok(!isPlaceholder(value)),
);

test.each([
  ['user:password', true],
  ['no colon', false],
  ['user:', false],
  ['user:\u0000', false],
])('%j has a user and a password: %s', (text, expected) => {
  assert.equal(isUserAndPassword(Buffer.from(text).toString('base64')), expected);
});
