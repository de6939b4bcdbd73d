import assert from 'node:assert/strict';
import { test } from 'vitest';
import { DeadlineExceeded } from '#core';
import { EngineError, toHubError } from '../../../../hub/runtimes/docker/engine/errors.ts';

const address = 'unix:///var/run/docker.sock';
const system = (code: string) => Object.assign(new Error(`connect ${code} /x`), { code });

for (const [what, error, expected] of [
  [
    'no socket',
    system('ENOENT'),
    /^no Docker engine answers at unix:.*no such socket. Start Docker/,
  ],
  [
    'no listener',
    system('ECONNREFUSED'),
    /nothing listens there. Start Docker, or set DOCKER_HOST/,
  ],
  ['no right', system('EACCES'), /may not open the socket. Add the user to the group/],
  ['silence', new DeadlineExceeded(2000), /no answer within 2000 ms. Check that Docker/],
  [
    'no engine behind a proxy or the broker',
    new Error('(HTTP code 502) unexpected - the broker cannot reach the Docker engine '),
    /: the broker cannot reach the Docker engine. Check that Docker runs/,
  ],
  ['anything else', new Error('socket hang up'), /socket hang up. Check that Docker runs/],
] as const)
  test(`${what} is reported as an unreachable engine, with a remedy`, () => {
    const result = toHubError(error, 'start the container x', address);
    assert.equal(result.code, 'HUB_ENGINE_UNREACHABLE');
    assert.match(result.message, expected);
    assert.equal(result.data.retryable, true);
    assert.equal(result.cause, error);
  });

test('a refusal has the status and the message of the engine', () => {
  const error = new Error('(HTTP code 409) unexpected - Conflict. The name - "/x" - is in use. ');
  const result = toHubError(error, 'create the container x', address);
  assert.ok(result instanceof EngineError);
  assert.equal(result.status, 409);
  assert.equal(result.words, 'Conflict. The name - "/x" - is in use.');
  assert.equal(
    result.message,
    'the Docker engine refused to create the container x: Conflict. The name - "/x" - is in use.',
  );
});
