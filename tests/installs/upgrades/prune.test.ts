import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ServerConfig } from '#config';
import type { DockerTarget } from '#runtimes';
import { planLaunch } from '#servers';
import { pruneImages } from '../../../hub/installs/upgrades/prune.ts';
import { packagedConfig } from './packaged.ts';

const systemPackages = ['git'];

/** Returns the images that a prune considers needed. */
async function neededBy(config: ServerConfig): Promise<readonly DockerTarget['image'][]> {
  let found: readonly DockerTarget['image'][] = [];
  await pruneImages(
    [config],
    { isDry: true },
    {
      specOf: one => planLaunch(one, { auto: 'docker', dataDir: '/data' }),
      images: {
        async prune(needed) {
          found = needed;
          return { removed: [], left: [] };
        },
      },
    },
  );
  return found;
}

test.each([
  [{ package: { ecosystem: 'npm', spec: 'n@1.0.0' } }],
  [{ reference: 'example/server:1' }],
] as const)('the image of a server whose secret is missing counts as used: %j', async source => {
  const config = packagedConfig('package' in source ? source.package : undefined);
  assert.ok(config.launch.kind === 'local');
  const image = 'reference' in source ? { image: source.reference } : {};
  const launch = { ...config.launch, ...image, runtime: 'docker', systemPackages } as const;
  const needed = await neededBy({ ...config, launch, secretFaults: ['the secret X is not set'] });
  assert.deepEqual(needed.at(-1), { ...source, systemPackages });
});
