/** Where the streams of a container go. Chunks are cut anywhere and belong to the receiver. */
export type DemuxSink = {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** A header that no engine writes: the stream is out of step, and what follows is not read. */
  broken(detail: string): void;
};

const headerBytes = 8;

/**
 * Takes Docker's multiplexed stream apart (docs.docker.com/reference/api/engine, "Attach to a
 * container"): frames of at most 32 KiB behind a header of 8 bytes, which are the stream's number,
 * three zeros and the length. Chunks may end anywhere, also within a header. No payload is copied.
 */
export function createDemux(sink: DemuxSink): { push(chunk: Buffer): void } {
  const header = Buffer.alloc(headerBytes);
  let headerFilled = 0;
  let stream = 0;
  let remaining = 0;
  let isBroken = false;

  /** Reads the header, or what there is of it, and answers with the index after it. */
  function readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(header, headerFilled, at, at + headerBytes - headerFilled);
    headerFilled += copied;
    if (headerFilled < headerBytes) return at + copied;
    headerFilled = 0;
    stream = header[0] ?? 0;
    remaining = header.readUInt32BE(4);
    // Stream 3 carries errors of the engine itself (moby, pkg/stdcopy).
    if (stream > 3 || header.readUIntBE(1, 3) !== 0) {
      isBroken = true;
      sink.broken(`the engine sent no frame header but ${header.toString('hex')}`);
    }
    return at + copied;
  }

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !isBroken) {
        if (remaining === 0) {
          at = readHeader(chunk, at);
          continue;
        }
        const end = Math.min(chunk.length, at + remaining);
        const payload = chunk.subarray(at, end);
        remaining -= end - at;
        at = end;
        if (stream >= 2) sink.stderr(payload);
        else sink.stdout(payload);
      }
    },
  };
}
