import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { HubError, systemClock } from '#core';
import type { DockerTarget } from '#runtimes';
import { createImages } from '../../../../hub/runtimes/docker/image/images.ts';
import { imagesDir } from '../hub.ts';

export type Wanted = DockerTarget['image'];
export const npm: Wanted = { package: { ecosystem: 'npm', spec: 'zod@4.6.7' } };
export const pypi: Wanted = { package: { ecosystem: 'pypi', spec: 'mcp-server-time==2026.10.19' } };
export const image: Wanted = { reference: 'some/image:1' };

/** Provides an image on an engine whose builds and pulls end with this output and error. Returns the hub's error. */
export async function failure(
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

/** Error with which the engine ends a build whose command failed. */
export const step = "The command '/bin/sh -c npm install' returned a non-zero code: 1";
