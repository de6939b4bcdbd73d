import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'vitest';
import { HubError, kindOf, systemClock } from '#core';
import type { DockerTarget } from '#runtimes';
import { createImages } from '../../../../hub/runtimes/docker/image/images.ts';
import { imagesDir } from '../hub.ts';

type Wanted = DockerTarget['image'];
const npm: Wanted = { package: { ecosystem: 'npm', spec: 'zod@4.6.7' } };
const pypi: Wanted = { package: { ecosystem: 'pypi', spec: 'mcp-server-time==2026.10.19' } };
const image: Wanted = { reference: 'some/image:1' };

/** What an engine that ends every build and pull in this way makes of an image. */
async function failure(
  wanted: Wanted,
  output: string,
  error: string,
  findElsewhere: () => Promise<string | undefined> = async () => undefined,
): Promise<HubError> {
  const answer = async () =>
    Readable.from([`${JSON.stringify({ stream: output })}\n${JSON.stringify({ error })}\n`]);
  const images = createImages(
    { imagesDir, buildLimits: { memoryBytes: 2 ** 30, cpus: 1 } },
    {
      engine: { findImage: async () => undefined, pullImage: answer, buildImage: answer },
      clock: systemClock,
      locks: undefined,
      withNetwork: work => work('network'),
      findElsewhere,
    },
  );
  try {
    await images.provide(wanted, () => {}, AbortSignal.timeout(5000));
  } catch (thrown) {
    if (thrown instanceof HubError) return thrown;
    throw thrown;
  }
  return assert.fail('it was made');
}

const step = "The command '/bin/sh -c npm install' returned a non-zero code: 1";
// Written by npm 11, pip 25 and Docker Engine 28 without a network.
const pipAway = `WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f3aa733d160>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/zodx/
ERROR: Could not find a version that satisfies the requirement zodx==1 (from versions: none)
ERROR: No matching distribution found for zodx==1`;
const npmAway = `npm error code EAI_AGAIN
npm error syscall getaddrinfo
npm error request to https://registry.example.org/zod failed, reason: getaddrinfo EAI_AGAIN registry.example.org`;

describe('an image that could not be made for want of a registry may be tried again', () => {
  test.each<[string, Wanted, string, string]>([
    ['npm without a name server', npm, npmAway, step],
    ['npm at a registry that is down', npm, 'npm error code E503', step],
    ['npm through a proxy that is down', npm, 'npm error code ECONNREFUSED', step],
    ['npm on a line that is cut', npm, 'npm error code ECONNRESET\nnpm error network x', step],
    [
      'an install script that fetches from elsewhere',
      npm,
      'npm error code 1\nnpm error Error: getaddrinfo ENOTFOUND github.com',
      step,
    ],
    ['pip without a name server', pypi, pipAway, step],
    [
      'a base image without a name server',
      npm,
      '',
      'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.53:53: no such host',
    ],
    [
      'an image of a registry that does not listen',
      image,
      '',
      'Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    ['an image when too many were pulled', image, '', 'toomanyrequests: Rate exceeded'],
    [
      'an image of a registry with troubles',
      image,
      '',
      'received unexpected HTTP status: 503 Service Unavailable',
    ],
  ])('%s', async (_, wanted, output, error) => {
    const found = await failure(wanted, output, error);
    assert.equal(found.code, 'HUB_REGISTRY_UNREACHABLE');
    assert.equal(kindOf(found), 'unavailable', 'the supervisor tries again');
    assert.equal(found.data.retryable, true);
    assert.ok(found.message.includes(output || error), found.message);
  });
});

describe('an image that could not be made for another reason is not tried again', () => {
  test.each<[string, Wanted, string, string, string]>([
    [
      'a package that npm does not have',
      npm,
      'npm error code E404\nnpm error 404 Not Found - GET https://registry.example.org/network',
      step,
      'HUB_IMAGE_BUILD_FAILED',
    ],
    [
      'a package that pip does not have',
      pypi,
      'ERROR: No matching distribution found for zodx==1',
      step,
      'HUB_IMAGE_BUILD_FAILED',
    ],
    [
      'a package without a command, which came at the second try',
      pypi,
      'WARNING: Retrying (Retry(total=4)) after connection broken by x: Connection refused\nzodx has no command (console script)',
      step,
      'HUB_IMAGE_BUILD_FAILED',
    ],
    [
      'an image that is not there, or not for everyone',
      image,
      '',
      'pull access denied for some/image, repository does not exist or may require docker login',
      'HUB_IMAGE_MISSING',
    ],
    ['a tag that is not there', image, '', 'manifest unknown', 'HUB_IMAGE_MISSING'],
  ])('%s', async (_, wanted, output, error, code) => {
    const found = await failure(wanted, output, error);
    assert.equal(found.code, code);
    assert.equal(kindOf(found), 'invalid');
  });
});

test.each<[string, Wanted, string, RegExp | undefined]>([
  ['npm', npm, 'npm error code E404', /PyPI has a package of that name: write "package": "other"/],
  [
    'pip',
    pypi,
    'ERROR: x (from versions: none)',
    /npm has a package of that name: write "package": "other"/,
  ],
  ['npm, for another reason', npm, 'npm error code ETARGET', undefined],
])(
  'a package that %s does not have is suggested where the other registry has it',
  async (_, wanted, output, words) => {
    const { message } = await failure(wanted, output, step, async () => 'other');
    if (words) assert.match(message, words);
    else assert.doesNotMatch(message, /of that name/);
  },
);
