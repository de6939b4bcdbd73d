import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { readOwnCertificate } from '#connector';
import { createCertificates } from '#helpers/certificates';
import { type TestHub, startHub } from '#helpers/hub';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
const certificates = createCertificates();
afterAll(() => certificates[Symbol.dispose]());
const authority = certificates.createAuthority('hub-authority');
const { certFile: AGENTHUB_CLIENT_CERT, keyFile: AGENTHUB_CLIENT_KEY } = authority.sign({
  commonName: 'cursor',
});
const own = { AGENTHUB_CLIENT_CERT, AGENTHUB_CLIENT_KEY };

async function startSecure() {
  const clients = { caFile: authority.certFile, isRequired: true };
  const tls = { ...authority.sign({ alternativeNames: 'DNS:localhost' }), clients };
  return await startHub([{ name: 'echo' }], { http: { host: 'localhost', tls } });
}

const run = async (
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  input?: string,
) =>
  await runProgram(
    [process.execPath, bin, ...words],
    { NODE_EXTRA_CA_CERTS: authority.certFile, ...env },
    input,
  );

/** Runs a line of the documentation in a shell where `agenthub` is defined. */
const runLine = async (line: string, input: string) =>
  await runProgram(
    ['bash', '-c', `agenthub() { '${process.execPath}' '${bin}' "$@"; }; ${line}`],
    {},
    input,
  );

async function runProgram(
  [program = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
) {
  const child = spawn(program, words, {
    cwd: certificates.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: certificates.folder, ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

describe('with a hub that requires client certificates,', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startSecure();
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';

  test('connect-stdio presents its own, and without one says what is missing', async () => {
    const words = ['connect-stdio', '--url', hub.url];
    const joined = await run(words, own, ping);
    assert.equal(joined.out, '{"jsonrpc":"2.0","id":1,"result":{}}\n', joined.err);
    const refused = await run(words, {}, ping);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /refuses the connection: this hub requires a certificate of each/);
  });

  test('connect-stdio finds certificate, key and authority in the folder that it is run in', async () => {
    copyFileSync(AGENTHUB_CLIENT_CERT, join(certificates.folder, 'cursor.pem'));
    copyFileSync(AGENTHUB_CLIENT_KEY, join(certificates.folder, 'cursor.key'));
    const joined = await runLine(
      `AGENTHUB_CLIENT_CERT=cursor.pem AGENTHUB_CLIENT_KEY=cursor.key NODE_EXTRA_CA_CERTS=hub-authority.pem agenthub connect-stdio --url ${hub.url}`,
      ping,
    );
    assert.equal(joined.out, '{"jsonrpc":"2.0","id":1,"result":{}}\n', joined.err);
  });

  test('commands present their own, and without one say what is missing', async () => {
    const words = ['list', '--url', hub.url];
    const listed = await run(words, own);
    assert.match(listed.out, /echo/, listed.err);
    const refused = await run(words, {});
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /this hub requires a certificate of each client/);
    assert.match(refused.err, /AGENTHUB_CLIENT_CERT and AGENTHUB_CLIENT_KEY/);
  });
});

test('the certificate of a client needs its key, and files that can be read', async () => {
  assert.equal(await readOwnCertificate({ AGENTHUB_CLIENT_CERT: '' }), undefined);
  await assert.rejects(readOwnCertificate({ AGENTHUB_CLIENT_CERT }), {
    code: 'HUB_USAGE',
    message: /^AGENTHUB_CLIENT_KEY: is not set, but a certificate needs its key/,
  });
  await assert.rejects(readOwnCertificate({ ...own, AGENTHUB_CLIENT_KEY: '/none/such' }), {
    code: 'HUB_USAGE',
    message: /^AGENTHUB_CLIENT_KEY: "\/none\/such" cannot be read \(ENOENT/,
  });
});

test('the certificate of a client and its key must belong together, and be PEM files', async () => {
  const { keyFile } = authority.sign({ commonName: 'raycast' });
  const pairs = [
    { ...own, AGENTHUB_CLIENT_KEY: keyFile },
    { ...own, AGENTHUB_CLIENT_KEY: AGENTHUB_CLIENT_CERT },
    { ...own, AGENTHUB_CLIENT_CERT: AGENTHUB_CLIENT_KEY },
  ];
  for (const pair of pairs)
    await assert.rejects(readOwnCertificate(pair), {
      code: 'HUB_USAGE',
      message:
        /^AGENTHUB_CLIENT_CERT and AGENTHUB_CLIENT_KEY: ".*" and ".*" cannot be used together \(.+\)\. Write the PEM files of a certificate and its key, which has no passphrase$/,
    });
});
