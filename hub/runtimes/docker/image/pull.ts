import { HubError, isObject } from '#core';
import type { Engine } from '../engine/engine.ts';
import { EngineError } from '../engine/errors.ts';
import { jsonLines } from '../engine/events.ts';

export async function pull(
  engine: Pick<Engine, 'pullImage'>,
  reference: string,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const [name, tag] = splitReference(reference);
  try {
    for await (const line of jsonLines(await engine.pullImage(name, tag, signal))) {
      if (typeof line['error'] === 'string') throw missing(reference, line['error']);
      // Lines with byte counts are skipped: they arrive many times per second.
      if (typeof line['status'] === 'string' && !isObject(line['progressDetail']))
        progress(line['status']);
    }
  } catch (error) {
    throw error instanceof EngineError ? missing(reference, error.words, error) : error;
  }
}

/** Without a tag the engine would pull all tags. */
function splitReference(reference: string): readonly [name: string, tag: string] {
  const [name = reference, digest] = reference.split('@');
  if (digest !== undefined) return [name, digest];
  const colon = reference.lastIndexOf(':');
  return colon > reference.lastIndexOf('/')
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, 'latest'];
}

export function missing(reference: string, words: string, cause?: unknown): HubError {
  const image = `the image ${reference} is not on this engine`;
  const remedy = `or bring it there (docker pull ${reference})`;
  return isEngineCutOff(words)
    ? new HubError(
        'HUB_REGISTRY_UNREACHABLE',
        `${image}, and its registry cannot be reached: ${words}. Check the network and the name, ${remedy}`,
        { cause, data: { retryable: true } },
      )
    : new HubError(
        'HUB_IMAGE_MISSING',
        `${image} and could not be pulled: ${words}. Check its name, ${remedy}`,
        { cause },
      );
}

/** Messages of the engine, which is written in Go, if a registry did not answer. */
const engineCutOff =
  /dial tcp|dial udp|no such host|server misbehaving|i\/o timeout|TLS handshake timeout|connection (refused|reset by peer|timed out)|network is unreachable|no route to host|deadline exceeded|Client\.Timeout exceeded|request canceled while waiting|unexpected EOF|": EOF$|toomanyrequests|HTTP status:? 5\d\d|\b50[234] (Bad Gateway|Service Unavailable|Gateway Time-?out)/i;

/** True if the engine could not reach the registry of an image. */
export const isEngineCutOff = (words: string) => engineCutOff.test(words);
