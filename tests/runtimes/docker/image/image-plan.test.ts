import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { readContext } from '#contexts';
import { makeTempFolder } from '#helpers/temp-folder';
import type { BuildSource } from '#runtimes';
import { createImagePlans } from '../../../../hub/runtimes/docker/image/image-plan.ts';
import { imagesDir } from '../hub.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plan-'));
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, '.env'), 'A=1');
});
afterAll(() => rmSync(folder, { recursive: true }));

const found = { id: 'sha256:1', user: '1000:1000', volumes: [], entrypoint: [], command: [] };
const present = { ...found, env: [], labels: {}, digests: [], tags: [] };
const planOf = createImagePlans({ imagesDir, engine: { findImage: async () => present } });

async function buildOf(kind: BuildSource['kind'] = 'npm'): Promise<BuildSource> {
  return { kind, folder, digest: (await readContext(folder)).digest };
}

describe('system packages', () => {
  const npm = { package: { ecosystem: 'npm', spec: 'a@1.0.0' } } as const;

  test('of a package are installed first, so that it can be compiled against them', async () => {
    const { reference, steps } = await planOf({ ...npm, systemPackages: ['git'] });
    const [system, own] = steps;
    assert.match(system?.image.base ?? '', /^node:/);
    assert.equal(own?.image.base, system?.image.tag);
    assert.equal(reference, own?.image.tag);
    assert.notEqual(reference, (await planOf(npm)).reference);
  });

  test('of a Python package are installed on the Python version that the entry requests', async () => {
    const pypi = { ecosystem: 'pypi', spec: 'a==1.0', python: '3.12' } as const;
    const { steps } = await planOf({ package: pypi, systemPackages: ['git'] });
    assert.equal(steps[0]?.image.base, 'python:3.12-slim');
    const { steps: plain } = await planOf({ package: pypi });
    assert.deepEqual(
      plain.map(({ image }) => image.base),
      ['python:3.12-slim'],
    );
  });

  test('of an image are installed on its current version', async () => {
    const { reference, pulled, steps } = await planOf({
      reference: 'me/it',
      systemPackages: ['git'],
    });
    assert.deepEqual([pulled, steps.length], ['me/it', 1]);
    assert.equal(steps[0]?.image.base, 'sha256:1');
    assert.equal(steps[0]?.image.args?.['BASE_USER'], '1000:1000');
    assert.equal(reference, steps[0]?.image.tag);
    assert.deepEqual((await planOf({ reference: 'me/it' })).steps, []);
  });

  test('of a folder with a Dockerfile are installed on the image that it builds', async () => {
    const build = await buildOf('docker');
    const { steps } = await planOf({ build, systemPackages: ['git'] });
    assert.deepEqual(
      steps.map(({ image }) => image.tag.replace(/:.*/, '').replace(/-plan-.*/, '')),
      ['agenthub/build', 'agenthub/system-build'],
    );
  });
});

test('an image of the hub whose program was not built names the command that builds it', async () => {
  const root = makeTempFolder('plan');
  const images = join(root, 'images');
  mkdirSync(join(images, 'agent'), { recursive: true });
  writeFileSync(join(images, 'agent', 'Dockerfile'), 'FROM x\nCOPY agent.mjs /agent.mjs\n');
  const plan = createImagePlans({ imagesDir: images, engine: { findImage: async () => present } });
  const { steps } = await plan({ context: 'agent' });
  await assert.rejects(async () => await steps[0]?.open(() => {}), {
    code: 'HUB_IMAGE_BUILD_FAILED',
    message: `${join(images, 'agent', 'agent.mjs')} was not built. Run "node scripts/prepare.mjs" in ${root}`,
  });
});

describe('a folder', () => {
  test('is read when it is built, and lists what it leaves out', async () => {
    const { steps } = await planOf({ build: await buildOf() });
    const told: string[] = [];
    const input = await steps[0]?.open(text => told.push(text));
    assert.deepEqual(told, [
      'not in the image: .env: it may hold secrets; give them to the server with "env"',
    ]);
    const archive = (await input?.pack('{}'))?.toString('latin1') ?? '';
    assert.ok(archive.includes('project/package.json') && archive.includes('lock\0'));
  });

  test('whose files have changed meanwhile is not built under the earlier name', async () => {
    const { steps } = await planOf({ build: { ...(await buildOf()), digest: 'old' } });
    await assert.rejects(async () => await steps[0]?.open(() => {}), {
      code: 'HUB_IMAGE_BUILD_FAILED',
    });
  });

  test('with a file name that an archive cannot contain is refused with a remedy', async () => {
    const name = `${'n'.repeat(101)}.txt`;
    writeFileSync(join(folder, name), '');
    try {
      const { steps } = await planOf({ build: await buildOf() });
      const { pack } = (await steps[0]?.open(() => {})) ?? assert.fail();
      await assert.rejects(pack(), {
        code: 'HUB_IMAGE_BUILD_FAILED',
        message: `the folder ${folder} cannot be packed: the path ${name} is too long. Shorten it, or list it in .dockerignore`,
      });
    } finally {
      rmSync(join(folder, name));
    }
  });

  test('that was removed meanwhile is named', async () => {
    const gone = { ...(await buildOf()), folder: '/no/such/folder' };
    const { steps } = await planOf({ build: gone });
    await assert.rejects(async () => await steps[0]?.open(() => {}), /\/no\/such\/folder cannot/);
  });
});
