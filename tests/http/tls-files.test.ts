import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { createCertificates } from '#helpers/certificates';
import { checkTlsFiles, expiryWarning, readTlsFiles } from '../../hub/http/tls-files.ts';

const certificates = createCertificates();
afterAll(() => certificates[Symbol.dispose]());
const authority = certificates.createAuthority('authority');
const dayMs = 86_400_000;
const hub = authority.sign({ commonName: 'hub' });
const other = authority.sign({ commonName: 'other' });

function fileOf(name: string, text: string): string {
  const file = join(certificates.folder, name);
  writeFileSync(file, text);
  return file;
}
const text = fileOf('text.pem', 'no PEM');
const cert = readFileSync(hub.certFile, 'utf8');
const locked = createPrivateKey(readFileSync(hub.keyFile)).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'secret',
});

test('a certificate and its key are read', async () => {
  const read = await readTlsFiles(hub);
  assert.equal(read.cert.toString(), cert);
  assert.deepEqual(read.key, readFileSync(hub.keyFile));
});

test.for([
  [{ certFile: `${text}.none` }, /^ROUTER_TLS_CERT: ".*none" cannot be read \(ENOENT.*\)\. Write/],
  [{ certFile: text }, /^ROUTER_TLS_CERT: ".*text\.pem" contains no certificate in PEM form\. Wr/],
  [{ certFile: hub.keyFile }, /^ROUTER_TLS_CERT: .* contains no certificate in PEM form/],
  [{ keyFile: text }, /^ROUTER_TLS_KEY: ".*text\.pem" contains no private key in PEM form\. Write/],
  [{ keyFile: hub.certFile }, /^ROUTER_TLS_KEY: .* contains no private key in PEM form/],
  [
    { keyFile: fileOf('locked.pem', String(locked)) },
    /^ROUTER_TLS_KEY: ".*locked\.pem" has a passphrase\. Write the path of the key without one/,
  ],
  [
    { keyFile: other.keyFile },
    /^ROUTER_TLS_KEY: ".*" is not the key of the certificate in ROUTER_TLS_CERT\. Write/,
  ],
  [
    { certFile: fileOf('chain.pem', `${cert}${cert.replaceAll('M', 'A')}`) },
    /^ROUTER_TLS_CERT: ".*chain\.pem" cannot be used for TLS \(.*\)\. Write/,
  ],
] as const)('the files are refused: %o', async ([files, message]) => {
  const refused = readTlsFiles({ ...hub, ...files });
  await assert.rejects(refused, { code: 'HUB_CONFIG_INVALID', message });
});

test.for([
  [15 * dayMs, undefined],
  [14 * dayMs, 'expires on 2040-02-03'],
  [1, 'expires on 2040-02-03'],
  [0, 'expired on 2040-02-03: clients refuse it'],
  [-dayMs, 'expired on 2040-02-03: clients refuse it'],
] as const)('%i ms before the end of a certificate, the warning is: %s', async ([left, said]) => {
  const end = new Date('2040-02-03T04:05:06Z');
  const ending = authority.sign({ commonName: 'hub', to: end });
  const warning =
    said &&
    `ROUTER_TLS_CERT: the certificate in ${JSON.stringify(ending.certFile)} ${said}. Renew it, and restart the hub`;
  const { expiresAt } = await readTlsFiles(ending);
  assert.equal(expiryWarning(ending, { expiresAt, now: end.getTime() - left }), warning);
  assert.equal(await checkTlsFiles(ending), expiresAt);
});

test('the authorities of clients are checked with them', async () => {
  const clients = { caFile: authority.certFile };
  await checkTlsFiles({ ...hub, clients });
  await assert.rejects(checkTlsFiles({ ...hub, clients: { caFile: text } }), {
    code: 'HUB_CONFIG_INVALID',
    message: /^ROUTER_TLS_CLIENT_CA: ".*text\.pem" contains no certificate in PEM form\. Write/,
  });
  await assert.rejects(checkTlsFiles({ ...hub, keyFile: text, clients }), {
    message: /^ROUTER_TLS_KEY/,
  });
});
