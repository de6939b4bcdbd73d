import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'vitest';
import { kindOf } from '#core';
import { EngineError } from '../../../../hub/runtimes/docker/engine/errors.ts';
import {
  build,
  isPackageAbsent,
  missing,
  pull,
} from '../../../../hub/runtimes/docker/image/make.ts';
import { type Wanted, failure, image, npm, pypi, step } from './failure.ts';

// Output of npm 11, pip 25 and Docker Engine 28 without a network.
const pipAway = `WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f3aa733d160>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/zodx/
ERROR: Could not find a version that satisfies the requirement zodx==1 (from versions: none)
ERROR: No matching distribution found for zodx==1`;
const npmAway = `npm error code EAI_AGAIN
npm error syscall getaddrinfo
npm error request to https://registry.example.org/zod failed, reason: getaddrinfo EAI_AGAIN registry.example.org`;

const withGit: Wanted = { ...npm, systemPackages: ['git'] };
// Output of apt 2.6 and 3.0 without a network, after which the script does not find the package.
const aptAway = `W: Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  Temporary failure resolving 'deb.debian.org'
W: Some index files failed to download. They have been ignored, or old ones used instead.
system_packages: git is not a package of Debian GNU/Linux 13 (trixie). Look for its name at https://packages.debian.org`;

// Output of uv 0.13 without a network.
const uvAway = `error: Request failed after 3 retries in 6.8s
  cause: Failed to fetch: https://registry.example.org/simple/cowsay/
  cause: error sending request for url (https://registry.example.org/simple/cowsay/)
  cause: client error (Connect)
  cause: dns error`;

describe('an image that could not be made because of a registry may be retried', () => {
  test.each<[string, Wanted, string, string]>([
    ['npm without a name server', npm, npmAway, step],
    ['npm at a registry that is down', npm, 'npm error code E503', step],
    ['npm through a proxy that is down', npm, 'npm error code ECONNREFUSED', step],
    ['npm on a line that is cut', npm, 'npm error code ECONNRESET\nnpm error network x', step],
    [
      'npm with the error of a host, and of no command',
      npm,
      'npm error code 1\nnpm error Error: getaddrinfo ENOTFOUND github.com',
      step,
    ],
    ['pip without a name server', pypi, pipAway, step],
    ['apt without a name server', withGit, aptAway, step],
    [
      'apt whose mirror is down while it downloads',
      withGit,
      'E: Failed to fetch http://deb.debian.org/git.deb  503  Service Unavailable [IP: 192.0.2.1 80]',
      step,
    ],
    ['uv without a name server', pypi, uvAway, step],
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

describe('an image that could not be made for another reason is not retried', () => {
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
      'a Debian package that its mirror has no more',
      withGit,
      'E: Failed to fetch http://deb.debian.org/git.deb  404  Not Found [IP: 192.0.2.1 80]',
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

const { signal } = new AbortController();
const lines = (...all: readonly object[]) =>
  Readable.from([all.map(line => `${JSON.stringify(line)}\n`).join('')]);

describe('a pull', () => {
  test.each([
    ['node', 'node', 'latest'],
    ['node:24', 'node', '24'],
    ['localhost:5000/node', 'localhost:5000/node', 'latest'],
    ['localhost:5000/org/node:24', 'localhost:5000/org/node', '24'],
    ['node@sha256:0123', 'node', 'sha256:0123'],
    ['node:24@sha256:0123', 'node:24', 'sha256:0123'],
  ])('of %s requests one tag or digest', async (reference, name, tag) => {
    const asked: string[] = [];
    const pullImage = async (...[ofName, ofTag]: readonly [string, string, AbortSignal]) => {
      asked.push(ofName, ofTag);
      return lines();
    };
    await pull({ pullImage }, reference, () => {}, signal);
    assert.deepEqual(asked, [name, tag]);
  });

  test('reports its steps, but not the number of bytes', async () => {
    const told: string[] = [];
    const pullImage = async () =>
      lines(
        { status: 'Pulling from library/node', id: '24' },
        { status: 'Downloading', progressDetail: { current: 1, total: 2 } },
        { status: 'Pull complete', progressDetail: 7 },
        { progress: 'none' },
      );
    await pull({ pullImage }, 'node', text => told.push(text), signal);
    assert.deepEqual(told, ['Pulling from library/node', 'Pull complete']);
  });

  test('that the engine refuses at once fails as a missing image', async () => {
    const cause = new EngineError(404, 'no such manifest', 'pull', undefined);
    const refused = pull({ pullImage: () => Promise.reject(cause) }, 'a:1', () => {}, signal);
    await assert.rejects(refused, {
      code: 'HUB_IMAGE_MISSING',
      message:
        'the image a:1 is not on this engine and could not be pulled: no such manifest. ' +
        'Check its name, or bring it there (docker pull a:1)',
      cause,
    });
  });

  test('that fails in another way passes on the error', async () => {
    const bug = new TypeError('bug');
    await assert.rejects(
      pull({ pullImage: () => Promise.reject(bug) }, 'a', () => {}, signal),
      bug,
    );
  });
});

describe('a build', () => {
  const options = { tag: 'a:1', package: 'x@1', labels: {} };
  const limits = { memoryBytes: 1, cpus: 1, network: 'none' };
  const run = (output: readonly object[], told: string[] = []) => {
    const engine = { buildImage: async () => lines(...output) };
    const work = { engine, context: Buffer.alloc(0), image: options, limits };
    return build(work, text => told.push(text), signal);
  };

  test('reports the lines of its installer, without colours and messages of the builder', async () => {
    const told: string[] = [];
    await run(
      [
        { stream: 'Step 1/4 : FROM node\n' },
        { stream: ' ---> 0123456789ab\n' },
        { stream: '\u001b[91mnpm warn old\u001b[0m  \n\nadded ' },
        { stream: '3 packages\n' },
        { aux: { ID: 'sha256:1' } },
        { stream: 'Removing intermediate container 1\nSuccessfully built 1\n' },
        { stream: 'Successfully tagged a:1\n' },
      ],
      told,
    );
    assert.deepEqual(told, ['npm warn old', 'added 3 packages']);
  });

  test('that fails shows its last twenty lines, and at most three thousand characters', async () => {
    const numbered = Array.from({ length: 30 }, (_, index) => ({ stream: `line ${index}\n` }));
    await assert.rejects(run([...numbered, { stream: 'unended' }, { error: step }]), {
      code: 'HUB_IMAGE_BUILD_FAILED',
      message:
        /^the image for x@1 could not be built:\nline 11\nline 12\n(?:line \d+\n){17}unended$/,
    });
    const long = Array.from({ length: 20 }, () => ({ stream: `${'x'.repeat(999)}\n` }));
    await assert.rejects(run([...long, { error: step }]), (error: Error) => {
      const [, ...shown] = error.message.split('\n');
      assert.equal(shown.join('\n').length, 3000);
      return true;
    });
  });

  test('whose output is cut within a surrogate pair shows valid Unicode', async () => {
    const output = { stream: `${'😀'.repeat(2000)}x\n` };
    await assert.rejects(run([output, { error: step }]), (error: Error) => {
      assert.ok(error.message.isWellFormed());
      return true;
    });
  });

  test('whose command printed nothing shows the message of the builder', async () => {
    await assert.rejects(run([{ error: step }]), { message: /:\nThe command '/ });
  });

  test("that the engine refuses shows its message and not the installer's output", async () => {
    const cause = new EngineError(500, 'no space left on device', 'build', undefined);
    const output = Readable.from(
      (async function* () {
        yield '{"stream":"added 1 package\\n"}\n';
        throw cause;
      })(),
    );
    const engine = { buildImage: async () => output };
    const work = { engine, context: Buffer.alloc(0), image: options, limits };
    await assert.rejects(
      build(work, () => {}, signal),
      {
        code: 'HUB_IMAGE_BUILD_FAILED',
        message: 'the image for x@1 could not be built:\nno space left on device',
        cause,
      },
    );
  });

  test('without a lock in its output has none', async () => {
    assert.equal(await run([{ stream: 'added 3 packages\n' }]), undefined);
  });
});

test('an install script that cannot download something fails for good, and the message says what it needs', async () => {
  // Output of npm 11. The stack of a script may be longer than the lines that are shown.
  const scripted = `npm error code 1
npm error path /opt/server/node_modules/x
npm error command failed
npm error command sh -c node install.js
${'npm error     at fetch (install.js:1:1)\n'.repeat(20)}npm error Error: getaddrinfo ENOTFOUND github.com`;
  const found = await failure(npm, scripted, step);
  assert.equal(found.code, 'HUB_IMAGE_BUILD_FAILED');
  assert.equal(kindOf(found), 'invalid', 'the supervisor does not try again');
  assert.equal(found.data.retryable, false);
  assert.match(
    found.message,
    /^the image for zod@4\.6\.7 could not be built, as an install script could not reach a server\. The script needs the network: let builds reach the host that it names, then start the server again:\n[^]*ENOTFOUND github\.com$/,
  );
});

test('a build or a pull that the engine breaks off may be retried', async () => {
  const broken = async () =>
    Readable.from(
      (function* () {
        yield '{"stream":"Step 1"}\n';
        throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
      })(),
    );
  const { signal } = new AbortController();
  const limits = { memoryBytes: 1, cpus: 1, network: 'none' };
  const work = {
    engine: { buildImage: broken },
    context: Buffer.alloc(0),
    image: { tag: 'a:1', labels: {} },
    limits,
  };
  const expected = (what: string) => ({
    code: 'HUB_ENGINE_UNREACHABLE',
    message: `the Docker engine broke off ${what}: aborted. Check that Docker runs (docker info)`,
    data: { retryable: true },
  });
  await assert.rejects(
    build(work, () => {}, signal),
    expected('the build of a:1'),
  );
  const pulled = pull({ pullImage: broken }, 'b:2', () => {}, signal);
  await assert.rejects(pulled, expected('the pull of b:2'));
});

test('only a failed build can report that a package does not exist', async () => {
  const found = await failure(npm, 'npm error code E404', step);
  assert.equal(isPackageAbsent(found), true);
  assert.equal(isPackageAbsent(await failure(npm, 'npm error code ETARGET', step)), false);
  assert.equal(isPackageAbsent(missing('a', 'npm error code E404')), false);
});
