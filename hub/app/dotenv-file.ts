import { type FileHandle, open } from 'node:fs/promises';
import { readBytes, readFlags } from '#config';
import { type Clock, errorCodeOf, sleep } from '#core';

type Waiting = {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Aborts when this process ends. */
  readonly signal: AbortSignal;
};

/** Time in ms to wait for the content of a pipe: its writer may ask its user for permission. */
const waitMs = 30_000;
const pollMs = 20;
const maxBytes = 2 ** 20;
const chunkBytes = 64 * 1024;

/**
 * Reads `.env`, which may be a named pipe: 1Password Environments and `doppler run --mount` write the variables to each
 * reader, so that they are in no file. Rejects with the error of the system, for a pipe without content, and with the reason of
 * the signal.
 */
export async function readDotenvFile(path: string, waiting: Waiting): Promise<Buffer> {
  await using handle = await open(path, readFlags);
  const stats = await handle.stat();
  if (stats.isFIFO()) return await readPipe(handle, waiting);
  // A link to /dev/null is an empty `.env`. Other devices have no end.
  if (stats.isCharacterDevice()) return (await readChunk(handle)) ?? Buffer.alloc(0);
  return await readBytes(path);
}

async function readPipe(handle: FileHandle, { clock, signal }: Waiting): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const endMs = clock.monotonic() + waitMs;
  for (;;) {
    signal.throwIfAborted();
    const chunk = await readChunk(handle);
    // The end of a pipe without content: its writer has not opened it yet.
    if (chunk?.length === 0 && bytes > 0) return Buffer.concat(chunks);
    if (chunk && chunk.length > 0) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new Error(`it is a pipe with more than ${maxBytes} bytes. Use another file`);
    } else if (clock.monotonic() > endMs)
      throw new Error(
        `it is a pipe whose content did not arrive within ${waitMs / 1000} s. Start the program that writes it, or remove it`,
      );
    else await sleep(pollMs, { clock, signal });
  }
}

/** Returns bytes of a pipe; none at its end, and undefined while its writer writes nothing. */
async function readChunk(handle: FileHandle): Promise<Buffer | undefined> {
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (errorCodeOf(error) === 'EAGAIN') return undefined;
    throw error;
  }
}
