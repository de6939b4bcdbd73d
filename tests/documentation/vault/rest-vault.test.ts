import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { ObsidianConfig } from '#config';
import { createCertificates, readCertificate } from '#helpers/certificates';
import { type ObsidianDouble, startObsidian } from '../../doubles/obsidian.ts';
import { findDescription } from '../../doubles/openapi.ts';
import { brokenLinks, createDocumentationScene, resultOf } from '../harness.ts';

const key = 'a-key-of-the-plugin';
const certificates = createCertificates();
const own = certificates.createAuthority('obsidian');
const foreign = certificates.createAuthority('foreign');
const fingerprintOf = (file: string) => new X509Certificate(readFileSync(file)).fingerprint256;
const description = findDescription('obsidian-local-rest-api.yaml');

let obsidian: ObsidianDouble;
beforeAll(async () => {
  obsidian = await startObsidian(own, key);
});
afterAll(async () => {
  await obsidian?.[Symbol.asyncDispose]();
  certificates[Symbol.dispose]();
});

const files = { 'src/a.ts': 'export const a = 1;\n', 'src/b/b.ts': "import '../a.ts';\n" };

/** Documents a repository into the vault of the plugin. */
async function document(config: Partial<ObsidianConfig>, project = 'app') {
  const plugin = {
    url: obsidian.url,
    key,
    keyFault: undefined,
    certificate: undefined,
    fingerprint: undefined,
  };
  await using scene = createDocumentationScene({ config: { obsidian: { ...plugin, ...config } } });
  const repo = scene.create(files);
  const request = { repo_path: repo, project_name: project, vault: 'obsidian' };
  const first = await scene.run(request);
  return [first, first.state === 'done' ? await scene.run(request) : first] as const;
}

test('notes are written over TLS with the pinned certificate, and a second run writes none', async () => {
  const [first, second] = await document({ fingerprint: fingerprintOf(own.certFile) });
  assert.deepEqual([resultOf(first)['created'], resultOf(first)['vault']], [5, obsidian.url]);
  assert.deepEqual([resultOf(second)['created'], resultOf(second)['kept']], [0, 5]);
  const notes = new Map(
    [...obsidian.notes].map(([path, text]) => [path.replace(/^app\/(.*)\.md$/, '$1'), text]),
  );
  assert.ok(notes.has('app - src - b'));
  assert.deepEqual(brokenLinks(notes), []);
});

test.skipIf(!description)('every request matches the description of the plugin', () => {
  const checked = obsidian.exchanges.flatMap(exchange => {
    // The OpenAPI description has one parameter for a path including its folders.
    const path = exchange.path.replace(/(?<=^\/vault\/)(.+[^/])$/, encodeURIComponent);
    const problems = description?.problems({ ...exchange, path });
    return problems ? [{ exchange, problems }] : [];
  });
  assert.ok(checked.length >= 10, `${checked.length} exchanges are described`);
  assert.deepEqual(
    checked.flatMap(({ problems }) => problems),
    [],
  );
});

test('the certificate can be configured as a file', async () => {
  const [first] = await document({ certificate: own.certFile }, 'by file');
  assert.equal(resultOf(first)['created'], 5);
});

describe('no request and no key is sent if the certificate is', () => {
  test.each([
    [
      'another one',
      { fingerprint: fingerprintOf(foreign.certFile) },
      /fingerprint [0-9A-F]{64}, not the one in documentation\.obsidian\.fingerprint/,
    ],
    [
      'of another authority',
      { certificate: foreign.certFile },
      /self-signed certificate|unable to verify|self signed/,
    ],
    ['not known at all', {}, /self-signed certificate|unable to verify|self signed/],
    [
      'no file',
      { certificate: '/none.pem' },
      /documentation\.obsidian\.certificate: cannot be read/,
    ],
  ])('%s', async (_what, pin, message) => {
    const before = obsidian.requests();
    const [job] = await document(pin);
    assert.equal(job.state, 'failed');
    assert.match(
      'error' in job ? `${job.error.code}: ${job.error.message}` : '',
      /^HUB_VAULT_UNREACHABLE: /,
    );
    assert.match('error' in job ? job.error.message : '', message);
    assert.equal(obsidian.requests(), before);
  });
});

test.each([
  [{ key: 'wrong' }, /does not accept the key in documentation\.obsidian\.key/],
  [
    { key: undefined, keyFault: 'the secret OBSIDIAN_API_KEY is not set' },
    /documentation\.obsidian\.key: the secret OBSIDIAN_API_KEY is not set/,
  ],
  [
    { url: 'https://127.0.0.1:9' },
    /the Local REST API of Obsidian at https:\/\/127\.0\.0\.1:9 cannot be used: .*ECONNREFUSED/,
  ],
])('the error message says what is wrong: %j', async (config, message) => {
  const [job] = await document({ fingerprint: fingerprintOf(own.certFile), ...config });
  assert.match('error' in job ? job.error.message : '', message);
});

test('an answer of another protocol ends the run', async () => {
  const server = createServer(readCertificate(own), socket =>
    socket
      .on('error', () => {})
      .once('data', () =>
        socket.write('HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
      ),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const url = `https://127.0.0.1:${port}`;
  const [job] = await document({ certificate: own.certFile, url });
  server.close();
  assert.match('error' in job ? job.error.message : '', /cannot be used: it answered 101$/);
});
