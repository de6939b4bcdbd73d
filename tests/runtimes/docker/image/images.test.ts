import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createImages } from '../../../../hub/runtimes/docker/image/images.ts';
import { imagesDir } from '../hub.ts';
import { type Wanted, failure, image, npm, pypi, step } from './failure.ts';

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
  'a package that %s does not have is suggested if the other registry has it',
  async (_, wanted, output, words) => {
    const { message } = await failure(wanted, output, step, async () => 'other');
    if (words) assert.match(message, words);
    else assert.doesNotMatch(message, /of that name/);
  },
);

test.each<[string, Wanted, string, string]>([
  [
    'a build',
    npm,
    'HUB_IMAGE_BUILD_FAILED',
    'the image for zod@4.6.7 was not built within 15 minutes. Its output in the log shows the slow step',
  ],
  [
    'a pull',
    image,
    'HUB_REGISTRY_UNREACHABLE',
    'the image some/image:1 was not pulled within 15 minutes. Check the network, or bring it there (docker pull some/image:1)',
  ],
])('%s that takes too long fails with the time limit', async (_, wanted, code, message) => {
  const clock = createManualClock();
  const begun = Promise.withResolvers<void>();
  const hang = () => {
    begun.resolve();
    return new Promise<never>(() => {});
  };
  const images = createImages(
    { imagesDir, buildLimits: { memoryBytes: 2 ** 30, cpus: 1 } },
    {
      engine: { findImage: async () => undefined, pullImage: hang, buildImage: hang },
      clock,
      withNetwork: work => work('network'),
    },
  );
  const { signal } = new AbortController();
  const refused = assert.rejects(
    images.provide(wanted, () => {}, signal),
    { code, message },
  );
  await begun.promise;
  clock.advance(15 * 60_000);
  await refused;
});
