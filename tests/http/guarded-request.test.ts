import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'vitest';
import { credentialsOf, guardedRequest } from '../../hub/http/guard.ts';

const request = (rawHeaders: readonly string[], url = '/mcp') =>
  guardedRequest(
    Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url, rawHeaders }),
    { kind: 'unchecked' },
  );

describe('a request for the guard', () => {
  test.each<readonly [rawHeaders: readonly string[], count: number]>([
    [[], 0],
    [['host', 'localhost'], 1],
    [['Host', 'localhost', 'HOST', 'evil.example'], 2],
    [['accept', 'host', 'x-of', 'Host'], 0],
    [['x-host', 'a', 'hos', 'b', 'port', 'c'], 0],
  ])('with the raw headers %j has %d Host headers', (rawHeaders, count) => {
    assert.equal(request(rawHeaders).hostCount, count);
  });

  test('has the target as it was sent, and allows no forms unless its route does', () => {
    const { method, target, takesForms, credentials } = request([], 'http://[/?a#b');
    assert.deepEqual(
      [method, target, takesForms, credentials],
      ['GET', 'http://[/?a#b', false, undefined],
    );
  });
});

describe('credentials', () => {
  const hex = (authorization: string) => credentialsOf({ authorization })?.digest.toString('hex');

  test.each([
    ['bearer secret', true],
    ['BEARER   secret', true],
    ['Bearer secret ', false],
    ['Bearer Secret', false],
    ['Basic secret', false],
    ['Bearersecret', false],
    ['secret', false],
    ['', false],
  ])('"%s" equals "Bearer secret": %s', (authorization, isEqual) => {
    assert.equal(hex(authorization) === hex('Bearer secret'), isEqual);
  });

  test('of any length have digests of one length', () => {
    for (const text of ['', 'a', 'x'.repeat(10_000)]) assert.equal(hex(text)?.length, 64);
  });

  test('are absent without the header', () => {
    assert.equal(credentialsOf({}), undefined);
  });
});
