import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createGuard } from '../../hub/http/guard.ts';

const guard = createGuard({
  host: '127.0.0.1',
  allowedHosts: ['Hub.example'],
  allowedOrigins: ['https://notes.example'],
  token: undefined,
});

describe('the guard', () => {
  const hosts: readonly (readonly [string | undefined, boolean])[] = [
    ['localhost', true],
    ['localhost:9090', true],
    ['LocalHost:9090', true],
    ['127.0.0.1:9090', true],
    ['127.0.0.2', true],
    ['127.200.3.4:80', true],
    ['[::1]:9090', true],
    ['[::1]', true],
    ['hub.example', true],
    ['HUB.EXAMPLE:443', true],
    [undefined, false],
    ['', false],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.nip.io', false],
    ['127.0.0.1.evil.example:9090', false],
    ['evil.example:127.0.0.1', false],
    ['localhost@evil.example', false],
    ['evil.example#localhost', false],
    ['localhost:9090:9090', false],
    ['localhost:', false],
    ['localhost.', false],
    ['::1', false],
    ['[::1', false],
    ['[::ffff:127.0.0.1]', false],
    ['127.1', false],
    ['127.0.0.256', false],
    ['127.0.0.1.5', false],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['192.168.1.5:9090', false],
    ['not-hub.example', false],
  ];
  for (const [host, allowed] of hosts)
    test(`${allowed ? 'lets in' : 'refuses'} the Host ${String(host)}`, () => {
      const refusal = guard({ headers: host === undefined ? {} : { host } });
      assert.equal(refusal?.status, allowed ? undefined : 403);
      if (!allowed) assert.match(refusal?.message ?? '', /ROUTER_ALLOWED_HOSTS/);
    });

  const origins: readonly (readonly [string, boolean])[] = [
    ['http://localhost', true],
    ['http://localhost:5173', true],
    ['https://127.0.0.1:9090', true],
    ['http://[::1]:9090', true],
    ['https://notes.example', true],
    ['http://notes.example', false],
    ['null', false],
    ['', false],
    ['https://evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://localhost@evil.example', false],
    ['http://evil.example/localhost', false],
    ['file://', false],
    ['chrome-extension://abc', false],
    ['http://localhost/', false],
  ];
  for (const [origin, allowed] of origins)
    test(`${allowed ? 'lets in' : 'refuses'} the Origin ${JSON.stringify(origin)}`, () => {
      const refusal = guard({ headers: { host: 'localhost', origin } });
      assert.equal(refusal?.status, allowed ? undefined : 403);
    });

  /** What a browser sends with a request that has no Origin: site, mode and destination. */
  const pages: readonly (readonly [string, string, string, boolean])[] = [
    ['cross-site', 'no-cors', 'image', false],
    ['cross-site', 'no-cors', 'empty', false],
    ['cross-site', 'navigate', 'iframe', false],
    ['cross-site', 'navigate', 'document', true],
    ['same-site', 'no-cors', 'image', true],
    ['same-origin', 'cors', 'empty', true],
    ['none', 'navigate', 'document', true],
  ];
  for (const [site, mode, dest, allowed] of pages)
    test(`${allowed ? 'lets in' : 'refuses'} a page that is ${site}, by ${mode}, for: ${dest}`, () => {
      const fetched = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
      const refusal = guard({ headers: { host: 'localhost', ...fetched } });
      assert.equal(refusal?.status, allowed ? undefined : 403);
      if (!allowed) assert.match(refusal?.message ?? '', /ROUTER_ALLOWED_ORIGINS/);
      const origin = 'https://notes.example';
      assert.equal(guard({ headers: { host: 'localhost', origin, ...fetched } }), undefined);
    });

  const listening: readonly (readonly [string, string, boolean])[] = [
    ['192.0.2.2', '192.0.2.2:9090', true],
    ['192.0.2.2', '192.0.2.3:9090', false],
    ['hub.lan', 'Hub.LAN', true],
    ['2001:db8::5', '[2001:db8::5]:9090', true],
    ['2001:DB8:0:0::5', '[2001:db8::5]', true],
    ['fe80::1%eth0', '[fe80::1]:9090', true],
    ['0.0.0.0', '0.0.0.0:9090', false],
    ['::', '[::]:9090', false],
    ['0.0.0.0', 'localhost:9090', true],
  ];
  for (const [host, asked, allowed] of listening)
    test(`of a hub that listens on ${host} ${allowed ? 'lets in' : 'refuses'} ${asked}`, () => {
      const own = createGuard({ host, allowedHosts: [], allowedOrigins: [], token: undefined });
      assert.equal(own({ headers: { host: asked } })?.status, allowed ? undefined : 403);
    });

  test('asks every request for the token where there is one', () => {
    const locked = createGuard({
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      token: 'secret',
    });
    const host = 'localhost';
    assert.equal(locked({ headers: { host } })?.status, 401);
    for (const authorization of ['', 'secret', 'Bearer', 'Bearer ', 'Bearer secre', 'Basic secret'])
      assert.equal(locked({ headers: { host, authorization } })?.status, 401, authorization);
    for (const authorization of ['Bearer secret', 'bearer secret', 'BEARER  secret'])
      assert.equal(locked({ headers: { host, authorization } }), undefined, authorization);
    assert.equal(
      locked({ headers: { host: 'evil.example', authorization: 'Bearer secret' } })?.status,
      403,
    );
  });
});
