import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { dialHub } from '#connector';
import { systemClock } from '#core';
import { startHub } from '#helpers/hub';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
const folder = mkdtempSync(join(tmpdir(), 'agenthub-connect-tls-'));
const keyFile = join(folder, 'key.pem');
const certFile = join(folder, 'cert.pem');

beforeAll(() => {
  const options = '-x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost';
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', ...options.split(' '), ...names], { stdio: 'ignore' });
});
afterAll(() => rmSync(folder, { recursive: true }));

const startSecure = () => startHub([], { http: { tls: { certFile, keyFile } } });
const portOf = ({ url }: { readonly url: string }) => new URL(url).port;

/** Runs connect-stdio with one message of its client. Returns its output on stdout and stderr. */
async function connect(url: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [bin, 'connect-stdio', '--url', url], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, LOG_FORMAT: 'json', ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.on('error', () => {});
  child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

describe('connect-stdio', () => {
  test('names the untrusted certificate and the setting that trusts it, which works', async () => {
    await using hub = await startSecure();
    const url = `https://localhost:${portOf(hub)}`;
    const refused = await connect(url);
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /^the certificate of the hub at https:\/\/localhost:\d+ is not trusted here \(self-signed certificate.*\)\. Set NODE_EXTRA_CA_CERTS to the file/,
    );
    const joined = await connect(url, { NODE_EXTRA_CA_CERTS: certFile });
    assert.equal(joined.out, '{"jsonrpc":"2.0","id":1,"result":{}}\n', joined.err);
  });

  test('names a certificate that is for another address', async () => {
    await using hub = await startSecure();
    const refused = await connect(`https://127.0.0.1:${portOf(hub)}`, {
      NODE_EXTRA_CA_CERTS: certFile,
    });
    assert.match(refused.err, /is not valid for that address now \(.*altnames.*--url as its/s);
  });

  test('says which scheme the hub uses if the address has the other one', async () => {
    await using plain = await startHub([]);
    await using secure = await startSecure();
    const dial = (url: string) =>
      dialHub(
        { url, server: undefined, token: undefined },
        { message() {}, closed() {} },
        systemClock,
      );
    await assert.rejects(dial(`https://localhost:${portOf(plain)}`), {
      code: 'HUB_CONNECT_FAILED',
      message: /speaks no TLS \(.*\)\. If the hub has no certificate, write http:\/\/ in --url$/s,
    });
    await assert.rejects(dial(`http://localhost:${portOf(secure)}`), {
      code: 'HUB_CONNECT_FAILED',
      message:
        /ended the connection \(.*\)\. If the hub has a certificate, write https:\/\/ in --url$/s,
    });
  });
});
