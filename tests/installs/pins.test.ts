import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'vitest';
import { isObject, systemClock } from '#core';
import { createPins, registriesOf } from '#installs';

type Asked = { readonly url: string; readonly authorization: string | undefined };

/** Starts a registry that answers by path, and all other requests with 404. */
async function registry(answers: Readonly<Record<string, readonly [number, string]>>) {
  const asked: Asked[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    asked.push({ url, authorization: headers.authorization });
    const [status, body] = answers[url] ?? [404, '{"error":"Not found"}'];
    response.writeHead(status).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: unknown = server.address();
  const host = `127.0.0.1:${isObject(address) ? String(address['port']) : ''}`;
  return {
    asked,
    host,
    pins: createPins(
      { npm: `http://me:word@${host}`, pypi: `http://${host}/root/simple` },
      { clock: systemClock, fetch },
    ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const never = new AbortController().signal;

describe('a package without a version', () => {
  test('gets the newest version of its registry', async () => {
    await using known = await registry({
      '/@a%2fb/latest': [200, '{"version":"1.2.3"}'],
      '/c/next': [200, '{"version":"2.0.0-beta.1"}'],
      '/root/pypi/d/json': [200, '{"info":{"version":"2026.1"}}'],
    });
    const { pins } = known;
    const npm = (spec: string) => pins.pin({ ecosystem: 'npm', spec }, never);
    assert.equal((await npm('@a/b')).spec, '@a/b@1.2.3');
    assert.equal((await npm('c@next')).spec, 'c@2.0.0-beta.1');
    assert.equal((await pins.pin({ ecosystem: 'pypi', spec: 'd' }, never)).spec, 'd==2026.1');
    assert.equal(known.asked[0]?.authorization, `Basic ${btoa('me:word')}`);
  });

  test('is looked up with a password that has a percent sign, encoded or not', async () => {
    await using known = await registry({ '/a/latest': [200, '{"version":"1.2.3"}'] });
    for (const written of ['50%', '50%25']) {
      const npm = `http://me:${written}@${known.host}`;
      const pins = createPins({ npm, pypi: npm }, { clock: systemClock, fetch });
      assert.equal((await pins.pin({ ecosystem: 'npm', spec: 'a' }, never)).spec, 'a@1.2.3');
      assert.equal(known.asked.pop()?.authorization, `Basic ${btoa('me:50%')}`);
    }
  });

  test('is not looked up if it has a version', async () => {
    await using known = await registry({});
    const npm = { ecosystem: 'npm', spec: '@a/b@1.2.3+x' } as const;
    const pypi = { ecosystem: 'pypi', spec: 'd==1.0rc1' } as const;
    assert.equal(await known.pins.pin(npm, never), npm);
    assert.equal(await known.pins.pin(pypi, never), pypi);
    assert.deepEqual(known.asked, []);
  });

  test('is never replaced by another version than requested: PyPI has no tags', async () => {
    await using known = await registry({
      '/root/pypi/d/json': [200, '{"info":{"version":"2026.1"}}'],
    });
    const pypi = (spec: string) => known.pins.pin({ ecosystem: 'pypi', spec }, never);
    assert.equal((await pypi('d==v1.0')).spec, 'd==1.0');
    for (const spec of ['d==next', 'd==1.*'])
      await assert.rejects(pypi(spec), { code: 'HUB_REQUEST_INVALID', message: /exact version/ });
    assert.equal((await pypi('d==latest')).spec, 'd==2026.1');
  });

  test('that the registry does not have is reported with its response, without a password', async () => {
    await using known = await registry({});
    await assert.rejects(known.pins.pin({ ecosystem: 'npm', spec: '@a/absent' }, never), error => {
      assert.ok(error instanceof Error);
      assert.match(error.message, /has no package "@a\/absent".*404: \{"error":"Not found"\}/);
      assert.ok(!error.message.includes('word'), 'the password is not shown');
      return 'code' in error && error.code === 'HUB_PACKAGE_UNKNOWN';
    });
  });

  test('that only the other registry has fails with the way to write it', async () => {
    await using known = await registry({
      '/root/pypi/mcp-time/json': [200, '{"info":{"version":"1.0"}}'],
      '/js-only/latest': [200, '{"version":"1.0.0"}'],
    });
    const { pins } = known;
    await assert.rejects(pins.pin({ ecosystem: 'npm', spec: 'mcp-time' }, never), {
      code: 'HUB_PACKAGE_UNKNOWN',
      message: /PyPI has a package of that name: write "uvx:mcp-time"/,
    });
    await assert.rejects(pins.pin({ ecosystem: 'pypi', spec: 'js-only' }, never), {
      message: /npm has a package of that name: write "js-only"/,
    });
    for (const spec of ['nowhere', '@scope/mcp-time'])
      await assert.rejects(pins.pin({ ecosystem: 'npm', spec }, never), error => {
        assert.doesNotMatch(String(error), /of that name/);
        return true;
      });
    assert.ok(!known.asked.some(({ url }) => url.includes('scope%2fmcp-time/json')));
  });

  test.each([
    ['a registry in trouble', [503, 'try later'], 'HUB_REGISTRY_UNREACHABLE', /503: try later/],
    ['an answer that is none', [200, '<html>'], 'HUB_PACKAGE_UNKNOWN', /without a version/],
    [
      'a version that is none',
      [200, '{"version":"../x"}'],
      'HUB_PACKAGE_UNKNOWN',
      /without a version/,
    ],
  ] as const)('fails with a reason because of %s', async (_, answer, code, message) => {
    await using known = await registry({ '/x/latest': answer });
    await assert.rejects(known.pins.pin({ ecosystem: 'npm', spec: 'x' }, never), { code, message });
  });

  test('whose registry is unreachable fails with the advice to give a version', async () => {
    const pins = createPins(
      { npm: 'http://127.0.0.1:9', pypi: 'http://127.0.0.1:9/simple' },
      { clock: systemClock, fetch },
    );
    await assert.rejects(pins.pin({ ecosystem: 'pypi', spec: 'd' }, never), {
      code: 'HUB_REGISTRY_UNREACHABLE',
      message: /newest version of d.*or write the exact version/,
    });
  });
});

test('the registries are those of the environment variables', () => {
  assert.deepEqual(registriesOf({}), {
    npm: 'https://registry.npmjs.org',
    pypi: 'https://pypi.org/simple',
  });
  assert.deepEqual(
    registriesOf({ NPM_CONFIG_REGISTRY: 'http://n/', PIP_INDEX_URL: 'http://p/simple/' }),
    { npm: 'http://n', pypi: 'http://p/simple' },
  );
  assert.equal(
    registriesOf({ PIP_INDEX_URL: 'http://p', UV_INDEX_URL: 'http://u' }).pypi,
    'http://u',
  );
});
