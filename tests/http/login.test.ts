import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import {
  cookieName,
  createLogin,
  linkMs,
  loginSeconds,
  maxFailures,
  windowMs,
} from '../../hub/http/login.ts';

const ownerKey = 'o'.repeat(43);
const token = 'a-token-16-chars';
const host = 'localhost:9090';

function open(options: Partial<Parameters<typeof createLogin>[0]> = {}) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const login = createLogin({ ownerKey, token, ...options }, { clock, log });
  const newCode = () =>
    new URL(login.createLink().path, 'http://hub').searchParams.get('code') ?? '';
  const headersOf = (value: string) => ({ host, cookie: `other=1; agenthub-9090=${value}` });
  const enter = () => {
    const entry = login.enterByLink(newCode(), '127.0.0.1');
    return entry.kind === 'in' ? entry.cookie : assert.fail(entry.kind);
  };
  return { clock, logged, login, newCode, headersOf, enter };
}

describe('a login link', () => {
  test('works once', () => {
    const { login, newCode } = open();
    const code = newCode();
    assert.equal(Buffer.from(code, 'base64url').length, 32);
    assert.equal(login.enterByLink(code, '127.0.0.1').kind, 'in');
    assert.equal(login.enterByLink(code, '127.0.0.1').kind, 'wrong');
  });

  test('ends after ten minutes', () => {
    const { clock, login, newCode } = open();
    const [early, late] = [newCode(), newCode()];
    clock.advance(linkMs - 1);
    assert.equal(login.enterByLink(early, '127.0.0.1').kind, 'in');
    clock.advance(1);
    assert.equal(login.enterByLink(late, '127.0.0.1').kind, 'wrong');
  });

  test('ends when twenty newer ones exist', () => {
    const { login, newCode } = open();
    const codes = Array.from({ length: 21 }, newCode);
    const kinds = codes.map(code => login.enterByLink(code, '127.0.0.1').kind);
    assert.deepEqual(kinds, ['wrong', ...Array.from({ length: 20 }, () => 'in')]);
  });

  test('is valid for one run of the hub', () => {
    const code = open().newCode();
    assert.equal(open().login.enterByLink(code, '127.0.0.1').kind, 'wrong');
  });
});

describe('the cookie of a login', () => {
  test('contains neither the key nor the token, and survives a restart of the hub', () => {
    const { enter, headersOf } = open();
    const cookie = enter();
    assert.ok(!cookie.includes(ownerKey) && !cookie.includes(token));
    assert.equal(open().login.scopeOf(headersOf(cookie)), 'administer');
  });

  test('ends after 30 days, with another key, and by any modification', () => {
    const { clock, login, enter, headersOf } = open();
    const cookie = enter();
    clock.advance(loginSeconds * 1000 - 1000);
    assert.equal(login.scopeOf(headersOf(cookie)), 'administer');
    clock.advance(1000);
    assert.equal(login.scopeOf(headersOf(cookie)), undefined);
    const other = open({ ownerKey: 'p'.repeat(43) }).login;
    assert.equal(other.scopeOf(headersOf(cookie)), undefined);
    const [scope = '', expires = '', signature = ''] = open().enter().split('.');
    for (const made of [
      '',
      ownerKey,
      token,
      `${scope}.${Number(expires) + 1}.${signature}`,
      `call.${expires}.${signature}`,
      `${scope}.${expires}.${'x'.repeat(43)}`,
      `${scope}.${expires}.`,
      `${scope}.${expires}.${signature}.`,
    ])
      assert.equal(login.scopeOf(headersOf(made)), undefined, made);
  });

  test('by the token is for calls only, and ends with that token', () => {
    const { login, headersOf } = open();
    const entry = login.enterByToken(token, '127.0.0.1');
    assert.equal(entry.kind, 'in');
    const headers = headersOf(entry.kind === 'in' ? entry.cookie : '');
    assert.equal(login.scopeOf(headers), 'call');
    assert.equal(open({ token: 'another-token-16' }).login.scopeOf(headers), undefined);
    assert.equal(open({ token: undefined }).login.scopeOf(headers), undefined);
  });

  test('has a name with the port', () => {
    const { login, enter } = open();
    const cookie = `agenthub-9090=${enter()}`;
    assert.equal(login.scopeOf({ host, cookie }), 'administer');
    assert.equal(login.scopeOf({ host: 'localhost:9091', cookie }), undefined);
    assert.equal(cookieName({ host: 'hub.example' }), 'agenthub-dashboard');
  });
});

describe('failed logins', () => {
  test('of an address delay it for a minute, even with the right token', () => {
    const { clock, login } = open();
    const enter = (given: string, address = '10.0.0.1') => login.enterByToken(given, address).kind;
    for (let count = 0; count < maxFailures; count++) assert.equal(enter('wrong'), 'wrong');
    assert.equal(enter(token), 'blocked');
    assert.equal(enter(token, '10.0.0.2'), 'in');
    clock.advance(windowMs);
    assert.equal(enter(token), 'in');
  });

  test('do not delay the owner, whose link cannot be guessed', () => {
    const { login, newCode } = open();
    const address = '127.0.0.1';
    for (let count = 0; count < maxFailures; count++) login.enterByLink('wrong', address);
    assert.equal(login.enterByLink('wrong', address).kind, 'blocked');
    assert.equal(login.enterByLink(newCode(), address).kind, 'in');
  });

  test('are logged with address and kind, at most ten times in a minute, and without the input', () => {
    const { clock, login, logged } = open();
    for (let count = 0; count < 500; count++) {
      login.enterByToken('guessed-token', '10.0.0.1');
      login.enterByLink('guessed-code', '10.0.0.1');
    }
    assert.equal(logged.length, maxFailures);
    assert.deepEqual(logged[0], {
      level: 'warn',
      message: 'a login failed',
      fields: { address: '10.0.0.1', way: 'token', failures: 1 },
    });
    assert.ok(!JSON.stringify(logged).includes('guessed'));
    clock.advance(windowMs);
    login.enterByLink('guessed-code', '10.0.0.1');
    assert.equal(logged.length, maxFailures + 1);
  });

  test('of more addresses than are remembered use no more memory', () => {
    const { login } = open();
    for (let count = 0; count < 5_000 * maxFailures; count++)
      login.enterByToken('wrong', `10.0.${Math.floor(count / maxFailures)}`);
    assert.equal(login.enterByToken('wrong', '10.0.0').kind, 'wrong', 'the first is forgotten');
    assert.equal(login.enterByToken('wrong', '10.0.4999').kind, 'blocked');
  });
});
