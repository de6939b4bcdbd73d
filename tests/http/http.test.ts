import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { openSession, send } from '../transports/raw.ts';

const echo = [{ name: 'echo' }];

describe('listening', () => {
  const notHere = process.platform === 'darwin' && 'macOS gives loopback one address';
  test.skipIf(notHere)(
    'on another address of this machine admits requests for that address',
    async () => {
      await using hub = await startHub(echo, { http: { host: '127.0.0.2' } });
      assert.match(hub.url, /^http:\/\/127\.0\.0\.2:\d+$/);
      assert.equal((await send(`${hub.url}/health`)).status, 200);
      const session = await openSession(`${hub.url}/mcp`);
      assert.equal((await session.end()).status, 204);
    },
  );

  test('on a port that is in use fails with a message', async () => {
    await using hub = await startHub([]);
    const port = Number(new URL(hub.url).port);
    await assert.rejects(startHub([], { http: { port } }), {
      code: 'HUB_PORT_TAKEN',
      message: /^127\.0\.0\.1:\d+ is in use.*--port or ROUTER_PORT$/,
    });
  });

  test('with TLS and a token on another address works; a missing certificate is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agenthub-tls-'));
    try {
      const keyFile = join(folder, 'key.pem');
      const certFile = join(folder, 'cert.pem');
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '1',
          '-subj',
          '/CN=localhost',
        ].concat(['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile]),
        { stdio: 'ignore' },
      );
      const tls = { certFile, keyFile };
      await using hub = await startHub([], { http: { host: '0.0.0.0', tls, token: 'secret' } });
      assert.match(hub.url, /^https:\/\/0\.0\.0\.0:\d+$/);
      const status = (authorization: string) =>
        new Promise<number | undefined>((resolve, reject) => {
          request(
            {
              port: new URL(hub.url).port,
              host: 'localhost',
              path: '/health',
              ca: readFileSync(certFile),
              headers: { authorization },
              agent: false,
            },
            response => resolve(response.resume().statusCode),
          )
            .on('error', reject)
            .end();
        });
      assert.equal(await status('Bearer wrong'), 401);
      assert.equal(await status('Bearer secret'), 200);
      const expiring = hub.logged.filter(({ message }) => message.startsWith('ROUTER_TLS_CERT'));
      assert.equal(expiring.length, 1);
      assert.match(expiring[0]?.message ?? '', /cert\.pem" expires on \d{4}-\d\d-\d\d\. Renew it/);
      const missing = { certFile: join(folder, 'none.pem'), keyFile };
      await assert.rejects(startHub([], { http: { tls: missing } }), {
        code: 'HUB_CONFIG_INVALID',
        message: /ROUTER_TLS_CERT: ".*none\.pem" cannot be read/,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
